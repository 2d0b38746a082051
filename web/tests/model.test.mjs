// The pure modules of the page, alone: `npm test`. The fold itself is held against the daemon's in tests/web/test_fold.py.
import assert from "node:assert/strict";
import { test } from "node:test";
import { age, clock, counted, duration, folderName, pathFrom, shortCount } from "../app/model/format.js";
import { choicesOf, isKnown } from "../app/model/approval.js";
import { asDiff, changesOf, counts } from "../app/model/changes.js";
import { byPeriod } from "../app/model/threads.js";
import { filesOf, numbered, sides } from "../app/model/diff.js";
import { addressOf, changedLine, isTemplate } from "../app/model/file_link.js";
import { fileTyped, pathsOf, spelledPath } from "../app/model/files.js";
import { matching, turnTyped } from "../app/model/palette.js";
import { viewOf } from "../app/model/views.js";
import { acknowledged, EMPTY, putBack, submitted, unsent } from "../app/model/draft.js";
import { waits } from "../app/model/threads.js";
import { visible, whole } from "../app/model/hidden.js";
import { Heights } from "../app/model/heights.js";
import { forget, note, nothingLive } from "../app/model/live.js";
import { GrowingMarkdown, safeLink } from "../app/model/markdown.js";
import { wishesOf } from "../app/model/permissions.js";
import { busyWords, linesOf } from "../app/model/fleet.js";
import { blockerOf } from "../app/model/state.js";
import { asTyped, piecesOf } from "../app/model/query.js";
import { canInsist, wordsOf } from "../app/model/outcome.js";

test("an outcome is worded from its parts, and its undo is left to the button", () => {
    const tokens = { before: 12750, after: 999, beforeEstimated: false, afterEstimated: true, note: null, cost: { said: "It costs." } };
    const cleared = { handled: true, said: "Context cleared.", undo: "/undo", tokens, hints: [], message: "all of it" };
    assert.equal(wordsOf(cleared), "Context cleared. Context: 12,750 tokens before, about 999 after. It costs.");
    assert.equal(wordsOf({ ...cleared, tokens: { ...tokens, after: null } }), "Context cleared. The context holds 12,750 tokens now.");
    assert.equal(wordsOf({ ...cleared, undo: null }), "all of it");
    assert.equal(canInsist(cleared), false);
    assert.equal(canInsist({ ...cleared, hints: [{ command: "/clear 1 --force", text: "does it all the same" }] }), true);
});

test("heights know where each row begins, also after rows changed", () => {
    const sizes = Array.from({ length: 1000 }, (_, index) => (index * 7919) % 97 + 1);
    const heights = new Heights(sizes);
    for (let change = 0; change < 500; change += 1) {
        const index = (change * 131) % 1000;
        const size = (change * 37) % 200 + 1;
        assert.equal(heights.set(index, size), size - sizes[index]);
        sizes[index] = size;
    }
    let sum = 0;
    sizes.forEach((size, index) => {
        assert.equal(heights.before(index), sum);
        assert.equal(heights.find(sum), index);
        assert.equal(heights.find(sum + size - 0.5), index);
        sum += size;
    });
    assert.equal(heights.total, sum);
    assert.equal(heights.find(sum + 10), 999);
    assert.equal(heights.find(-10), 0);
    assert.equal(new Heights([]).find(0), -1);
});

test("a text that grows is read as it would be in one piece", () => {
    const text = "# A\n\nOne *two*\nthree\n\n- a\n- b\n\n| x | y |\n|--|--|\n| 1 | 2 |\n\n```js\nlet a;\n\nlet b;\n```\n\nend";
    const whole = new GrowingMarkdown().read(text);
    const growing = new GrowingMarkdown();
    for (let length = 1; length < text.length; length += 1) {
        growing.read(text.slice(0, length));
    }
    assert.deepEqual(growing.read(text).map((token) => token.raw), whole.map((token) => token.raw));
    assert.equal(growing.read(text), growing.read(text));
    assert.equal(growing.read("other")[0].raw, "other");
});

test("only links to the web and to people are safe", () => {
    for (const href of ["https://a.b/c", "HTTP://a", " mailto:a@b.c "]) {
        assert.equal(safeLink(href), href.trim());
    }
    for (const href of ["javascript:alert(1)", "\u0001javascript:x", "data:text/html,x", "file:///etc", "//a.b", "vbscript:x", ""]) {
        assert.equal(safeLink(href), null);
    }
});

test("deltas grow an item until it is recorded, and what a cut turn had said stays", () => {
    const live = nothingLive();
    const item = { type: "agentMessage", id: "m", text: "" };
    note(live, "item/agentMessage/delta", { turnId: "t", itemId: "late", delta: "the end of what was missed" });
    assert.equal(live.items.get("late")?.text, "… the end of what was missed");
    forget(live, "late");
    note(live, "item/started", { turnId: "t", item });
    note(live, "item/agentMessage/delta", { itemId: "m", delta: "one " });
    note(live, "item/agentMessage/delta", { itemId: "m", delta: "two" });
    assert.equal(live.items.get("m")?.text, "one two");
    note(live, "item/completed", { turnId: "t", item: { ...item, text: "one two." } });
    note(live, "item/started", { turnId: "t", item: { type: "commandExecution", id: "c", command: "ls" } });
    note(live, "item/commandExecution/outputDelta", { itemId: "c", delta: "a\n" });
    assert.equal(live.items.get("c")?.detail.aggregatedOutput, "a\n");
    note(live, "error", { willRetry: true, error: { message: "busy" } });
    assert.match(live.notice, /busy; trying again/);
    note(live, "item/started", { turnId: "t", item: { type: "agentMessage", id: "cut", text: "" } });
    note(live, "item/agentMessage/delta", { itemId: "cut", delta: "half of " });
    note(live, "turn/completed", {});
    assert.deepEqual([...live.items.values()].map(({ id, text }) => [id, text]), [["m", "one two."], ["cut", "half of "]]);
    assert.equal(forget(live, "m"), true);
    assert.equal(note(live, "something/else", {}), false);
});

test("numbers and times are said as people say them", () => {
    assert.deepEqual([850, 1000, 8540, 85_200, 999_600, 1_250_000].map(shortCount), ["850", "1k", "8.5k", "85k", "1M", "1.3M"]);
    assert.equal(counted(1, "turn"), "1 turn");
    assert.equal(counted(1200, "turn"), "1,200 turns");
    assert.deepEqual([400, 12_300, 185_000].map(duration), ["0.4s", "12s", "3m 05s"]);
    const now = Date.parse("2026-03-01T12:00:00Z");
    const times = ["2026-03-01T11:59:50Z", "2026-03-01T11:30:00Z", "2026-03-01T07:00:00Z", "2026-02-27T12:00:00Z", "2025-12-01T00:00:00Z"];
    assert.deepEqual(times.map((time) => age(time, now)), ["now", "30m", "5h", "2d", "2025-12-01"]);
    assert.doesNotMatch(clock("2026-03-01T11:00:00Z", now), /,/);
    assert.match(clock("2026-02-01T11:00:00Z", now), /,/);
    assert.equal(folderName("/home/me/project/"), "project");
});

test("the last word that is typed may be the beginning of one", () => {
    assert.equal(asTyped(" parse hea "), "parse hea*");
    for (const query of ["", "a", "conf*", '"retry count"', "so what?"]) {
        assert.equal(asTyped(query), query);
    }
});

test("marks of a snippet count code points", () => {
    assert.deepEqual(piecesOf("😀 a pear 😀", [[4, 8]]), [
        { text: "😀 a ", isMarked: false }, { text: "pear", isMarked: true }, { text: " 😀", isMarked: false },
    ]);
    assert.deepEqual(piecesOf("pear", [[0, 4]]), [{ text: "pear", isMarked: true }]);
});

test("a path inside a folder is shown from there", () => {
    assert.equal(pathFrom("/a/b/c.py", "/a"), "b/c.py");
    assert.equal(pathFrom("/a/b/c.py", "/a/b/"), "c.py");
    for (const [path, folder] of [["/ab/c.py", "/a"], ["c.py", "/a"], ["/a/c.py", ""], ["/a/c.py", undefined]]) {
        assert.equal(pathFrom(path, folder), path);
    }
});

test("every permission that is asked for is named, once", () => {
    const file = { access: "write", path: { type: "path", path: "/w" } };
    const tmp = { access: "read", path: { type: "special", value: { kind: "tmpdir" } } };
    const files = { read: ["/r"], write: ["/w"], entries: [file, tmp], depth: 2 };
    assert.deepEqual(wishesOf({ network: { enabled: true }, fileSystem: files, other: ["x"], none: null }), [
        { words: "Reach the network" }, { words: "Read", path: "/r" }, { words: "Write", path: "/w" },
        { words: "Read", path: '{"kind":"tmpdir"}' }, { words: "depth: 2" }, { words: 'other: ["x"]' },
    ]);
    assert.deepEqual(wishesOf({ network: { enabled: true, hosts: ["a"] } }), [{ words: 'Network: {"enabled":true,"hosts":["a"]}' }]);
    assert.deepEqual(wishesOf({ network: null, fileSystem: null }), []);
});

test("lines of a diff have their numbers, and what was added stands beside what it replaces", () => {
    const lines = numbered(["@@ -3,3 +3,4 @@", " a", "-b", "-c", "+B", "+C", "+D", " e", "+f", "\\ No newline at end of file"]);
    assert.deepEqual(lines.map(({ kind, before, after }) => [kind, before, after]), [
        ["place", 0, 0], ["same", 3, 3], ["removed", 4, 0], ["removed", 5, 0], ["added", 0, 4], ["added", 0, 5], ["added", 0, 6],
        ["same", 6, 7], ["added", 0, 8], ["place", 0, 0],
    ]);
    assert.deepEqual(
        sides(lines).filter(([, right]) => right?.kind !== "place").map(([left, right]) => [left?.text, right?.text]),
        [["a", "a"], ["b", "B"], ["c", "C"], [undefined, "D"], ["e", "e"], [undefined, "f"]],
    );
});

test("a diff is shown file by file, without git's own lines", () => {
    const diff = [
        "diff --git a/a b.py b/a b.py", "index 1..2 100644", "--- a/a b.py", "+++ b/a b.py", "@@ -1 +1,2 @@", "--- old", "+new", "+diff --git x",
        "diff --git a/gone b/gone", "deleted file mode 100644", "--- a/gone", "+++ /dev/null", "@@ -1 +0,0 @@", "-x",
        "diff --git a/p.png b/p.png", "new file mode 100644", "Binary files /dev/null and b/p.png differ",
        "diff --git a/one b/two", "similarity index 100%", "rename from one", "rename to two",
        "diff --git a/empty b/empty", "new file mode 100644", "index 0..1", "",
    ].join("\n");
    assert.deepEqual(filesOf(diff), [
        { path: "a b.py", text: "@@ -1 +1,2 @@\n--- old\n+new\n+diff --git x" },
        { path: "gone", text: "@@ -1 +0,0 @@\n-x" },
        { path: "p.png", text: "Binary file." },
        { path: "two", text: "similarity index 100%\nrename from one\nrename to two" },
        { path: "empty", text: "new file mode 100644" },
    ]);
    assert.deepEqual(filesOf(""), []);
});

test("a sub-agent at work is no question of the agent", () => {
    const state = { turns: [], operation: null, pendingRequests: [{ id: "a", method: "subAgent" }] };
    assert.equal(blockerOf(state), "a sub-agent is at work");
    state.pendingRequests.push({ id: "b", method: "item/tool/requestUserInput" });
    assert.equal(blockerOf(state), "the agent waits for an answer");
    assert.equal(busyWords({ busy: "request" }), "at work");
    assert.equal(busyWords({ busy: "turn", asks: true }), "waits for an answer");
    assert.equal(busyWords({ busy: "turn" }), "a turn is running");
    const event = (type, payload) => ({ type: `thread.${type}`, payload, eventId: type, occurredAt: "" });
    const lines = linesOf([
        event("request-opened", { requestId: "a", method: "subAgent" }), event("request-closed", { requestId: "a", outcome: "resolved" }),
        event("request-opened", { requestId: "b", method: "m" }), event("request-closed", { requestId: "b", outcome: "resolved" }),
    ]);
    assert.deepEqual(lines.map(({ text }) => text), [
        "The agent asks", "The question ended: resolved",
    ]);
});

test("the fleet's list names a summary of turns in the middle as a summary alone", () => {
    const event = (type, payload) => ({ type: `thread.${type}`, payload, eventId: type, occurredAt: "" });
    const lines = linesOf([
        event("context-discarded", { trimPointId: "a" }), event("stretch-summarized", { trimPointId: "a", tokensBefore: 9, tokensAfter: 1 }),
        event("context-discarded", { trimPointId: "b" }),
    ]);
    assert.deepEqual(lines.map(({ text }) => text), ["What left it was summarized: 9 → 1 tokens", "Parts of the context were discarded"]);
});

test("what is to be approved hides nothing", () => {
    assert.equal(visible("a\u202eb\u0007c\td\r\n"), "a⟨U+202E⟩b⟨U+0007⟩c\td\n");
    assert.equal(visible("نمی\u200cخواهم 👩\u200d💻 \u00a0"), "نمی\u200cخواهم 👩\u200d💻 \u00a0");
    assert.equal(whole("rm\u00a0-rf \u200d/"), "rm⟨U+00A0⟩-rf ⟨U+200D⟩/");
    assert.equal(whole(`echo a${" ".repeat(400)}&& rm`), "echo a ⟨400 blanks⟩ && rm");
    assert.equal(whole(`${" ".repeat(60)}deep`), `${" ".repeat(60)}deep`);
    assert.equal(whole(`a${"\n".repeat(121)}rm`), "a\n⟨120 empty lines⟩\nrm");
    assert.equal(whole("a\n\n\nb\n\n"), "a\n\n\nb");
});

test("lines of changes are counted as a diff has them", () => {
    const added = { path: "n", kind: { type: "add" }, diff: "- one\n- two\n+ three\n" };
    assert.equal(asDiff(added), "+- one\n+- two\n++ three");
    assert.deepEqual(counts([added]), { added: 3, removed: 0 });
    assert.deepEqual(counts([{ kind: "delete", diff: "x" }]), { added: 0, removed: 1 });
    assert.deepEqual(counts([{ kind: { type: "update" }, diff: "--- a\n+++ b\n@@ -1,2 +1,2 @@\n---x\n+++y\n z\n" }]), { added: 1, removed: 1 });
    assert.deepEqual(counts(changesOf({ changes: [{}, null] })), { added: 0, removed: 0 });
});

test("nothing can be allowed of which it is not known what it would do", () => {
    const command = "item/commandExecution/requestApproval";
    const rule = { acceptWithExecpolicyAmendment: { execpolicy_amendment: ["touch", 'a"b'] } };
    const asked = { method: command, params: { command: "x", availableDecisions: ["accept", rule, "cancel"] } };
    assert.deepEqual(choicesOf(asked, true).map(({ key, words }) => `${key} ${words}`), ["y Allow", "a Always allow …", "n Decline and stop"]);
    assert.equal(choicesOf(asked, true)[1].rule, 'prefix_rule(pattern=["touch", "a\\"b"], decision="allow")');
    assert.deepEqual(choicesOf(asked, false).map(({ key }) => key), ["n"]);
    const file = { method: "item/fileChange/requestApproval", params: {} };
    assert.equal(isKnown(file, []), false);
    assert.equal(isKnown(file, [{}]), true);
    assert.deepEqual(choicesOf(file, false).map(({ words }) => words), ["Decline", "Decline and stop"]);
    assert.equal(isKnown({ method: "item/permissions/requestApproval", params: { permissions: {} } }, []), false);
    assert.equal(isKnown({ method: command, params: { networkApprovalContext: { host: "a" } } }, []), true);
});

test("a prompt stays in the box until it is acknowledged, and what is typed behind it stays when it goes", () => {
    let draft = submitted({ ...EMPTY, text: " one? ", images: ["a"] }, "1", "prompt");
    assert.deepEqual([draft.text, draft.images, unsent(draft)], [" one? ", [], ""]);
    draft = { ...draft, text: "one?two?" };
    assert.equal(unsent(draft), "two?");
    draft = submitted(draft, "2", "prompt");
    assert.deepEqual(draft.sending.map(({ text, images }) => [text, images]), [["one?", ["a"]], ["two?", []]]);
    assert.equal(acknowledged(draft, draft.sending[0]).text, "two?");
    assert.deepEqual(putBack(acknowledged(draft, draft.sending[0]), draft.sending[1]), { ...EMPTY, text: "two?" });
    const other = { ...submitted({ ...EMPTY, text: "one?", images: ["a"] }, "1", "prompt"), text: "another" };
    assert.equal(unsent(other), "another");
    assert.equal(acknowledged(other, other.sending[0]).text, "another");
    assert.deepEqual(putBack(other, other.sending[0]), { ...EMPTY, text: "one?\nanother", images: ["a"] });
    assert.deepEqual(acknowledged({ ...EMPTY, text: "typed", sending: [] }, { id: "x", mode: "prompt", text: "", images: ["a"] }).text, "typed");
});

test("a thread that waits for a person is told from one that works", () => {
    const thread = (id, busy, asks = null, archived = false) => ({ id, busy, asks, archived });
    assert.deepEqual([thread("a", "turn: running", "x"), thread("b", "turn: running"), thread("c", null), thread("d", null, "x", true)].map(waits),
        [true, false, false, false]);
});

test("an at sign and letters name a file, and git's own files are none", () => {
    assert.equal(fileTyped("read @src/a"), "@src/a");
    assert.equal(fileTyped("me@example.com"), "");
    const files = [{ path: ".git/HEAD", match_type: "file" }, { path: ".gitignore", match_type: "file" }, { path: "src", match_type: "directory" }];
    assert.deepEqual(pathsOf({ files }), [".gitignore", "src/"]);
    assert.equal(spelledPath("two words.py"), '@"two words.py"');
});

test("the palette finds by words in any order, and turns by their number", () => {
    const offers = ["Search", "Fork this thread", "New thread"].map((words) => ({ key: words, words, hint: "", act: () => {} }));
    assert.deepEqual(matching(offers, "thread fork").map((one) => one.words), ["Fork this thread"]);
    assert.deepEqual(matching(offers, "s").map((one) => one.words), ["Search", "Fork this thread"]);
    assert.deepEqual([turnTyped("12", 20), turnTyped("turn 3", 20), turnTyped("21", 20), turnTyped("0", 20), turnTyped("x", 20)], [12, 3, null, null, null]);
});

test("commands that look open the view that is made for them", () => {
    assert.deepEqual(viewOf("/help"), { dialog: "palette" });
    assert.deepEqual(viewOf("/timeline"), { panel: "checkpoints" });
    assert.deepEqual(viewOf("/revert"), { panel: "checkpoints" });
    assert.deepEqual(viewOf("/search two words"), { panel: "search", query: "two words" });
    assert.equal(viewOf("/revert 3"), null);
});

test("threads stand by the day on which they were used last", () => {
    const now = new Date(2026, 2, 10, 9, 0).getTime();
    const at = (...parts) => ({ updatedAt: new Date(2026, ...parts).toISOString() });
    const days = [at(2, 10, 8), at(2, 10, 0), at(2, 9, 23), at(2, 9, 0), at(2, 4, 12), at(1, 20), at(0, 1)];
    const shown = byPeriod(days, now).map(([words, members]) => [words, members.length]);
    assert.deepEqual(shown, [["Today", 2], ["Yesterday", 2], ["Last 7 days", 1], ["Last 30 days", 1], ["Older", 1]]);
    assert.deepEqual(byPeriod([], now), []);
});

test("the address of a file is of an editor or the web, and its path stays a path", () => {
    const code = "vscode://file{path}:{line}";
    assert.equal(addressOf(code, "/a b/#?%.py", 7), "vscode://file/a%20b/%23%3F%25.py:7");
    assert.equal(addressOf(code, "/a\nb/\u202ex\u05d0{line}", 7), "vscode://file/a%0Ab/%E2%80%AEx%D7%90%7Bline%7D:7");
    assert.equal(addressOf("vscode://vscode-remote/ssh-remote+desk{path}:{line}", "/a", 7), "vscode://vscode-remote/ssh-remote+desk/a:7");
    assert.equal(addressOf("idea://open?file={path}&line={line}", "/a&line=1", 7), "idea://open?file=/a%26line%3D1&line=7");
    for (const path of ["a.py", "/../ssh-remote+other/a", "/a/./b", "/a/..", "/\ud800", ""]) {
        assert.equal(addressOf(code, path, 7), null);
    }
    for (const template of [
        "javascript:alert(1)//{path}", "javascript://file{path}", " javascript://file{path}", "data://a{path}", "file://{path}", "file://a{path}", "http://a{path}",
        "https://{path}", "https:///{path}", "https://\\{path}", "vscode://file", "vscode://fi le{path}", "xvscode://file{path}", "{path}", "",
    ]) {
        assert.equal(isTemplate(template), false, template);
        assert.equal(addressOf(template, "/a", 7), null);
    }
});

test("a file opens where its first change is, and not when it is gone", () => {
    assert.equal(changedLine(["@@ -4,3 +4,3 @@", " a", "-b", "+c", " d"]), 5);
    assert.equal(changedLine(["@@ -4,2 +4,1 @@", " a", "-b"]), 4);
    assert.equal(changedLine(["+a", "+b"]), 1);
    assert.equal(changedLine(["Binary file."]), 1);
    assert.equal(changedLine(["@@ -1,2 +0,0 @@", "-a", "-b"]), 0);
});

test("names that git quotes are read", () => {
    const named = (/** @type {string} */ head) => filesOf(head)[0].path;
    assert.equal(named("diff --git a/a b b/a b\n--- /dev/null\n+++ b/a b\t\n@@ -0,0 +1 @@\n+x\n"), "a b");
    assert.equal(named('diff --git "a/a\\nb\\"\\001" "b/a\\nb\\"\\001"\n--- /dev/null\n+++ "b/a\\nb\\"\\001"\n@@ -0,0 +1 @@\n+x\n'), 'a\nb"\u0001');
    assert.equal(named('diff --git "a/a\\tb" "b/a\\tb"\nnew file mode 100644\n'), "a\tb");
    assert.equal(named('diff --git a/a "b/b\\\\"\nrename from a\nrename to "b\\\\"\n'), "b\\");
    assert.equal(named("diff --git a/a b/a\nnew file mode 100644\n"), "a");
});
