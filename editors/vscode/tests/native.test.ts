// The rows of pickers, the list of threads, where the program is, and the documents of the webviews.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ThreadOverview, TurnCheckpoint } from "../../../web/app/protocol.js";
import { Threads } from "../src/client/threads.js";
import { candidates, findProgram, ownEnvironment } from "../src/daemon/program.js";
import { accepting, clearRows, facts, firstLine, isOlder, quoted, revertRows, settingRows, takesWords, threadRows, turnRows } from "../src/native/pickers.js";
import { missingDocument, pageDocument } from "../src/page/document.js";

const NOW = Date.parse("2026-01-31T10:00:00.000Z");

function turn(number: number, prompt = `prompt ${number}`, more: Partial<TurnCheckpoint> = {}): TurnCheckpoint {
    return { number, turnId: `t${number}`, prompt, status: "completed", trimmed: false, capturedAt: null, commit: "c", ref: null, notes: [], problem: null, changed: null, ...more };
}

function thread(id: string, more: Partial<ThreadOverview> = {}): ThreadOverview {
    return { id, name: id, cwd: "/w", archived: false, createdAt: "2026-01-31T09:00:00.000Z", updatedAt: "2026-01-31T09:55:00.000Z", generation: 1, loaded: true, busy: null, ...more };
}

test("clear offers what is in the context, and never to keep all of it", () => {
    const turns = [turn(0, ""), turn(1, "a", { trimmed: true }), turn(2, "b"), turn(3, "c\nd"), turn(4, "e")];
    assert.deepEqual(clearRows(turns).map(({ label, description, value }) => [label, description, value]), [
        ["Keep the last turn", "from 4: e", "/clear 1"],
        ["Keep the last 2 turns", "from 3: c d", "/clear 2"],
        ["Keep nothing", "an empty context, the same conversation", "/clear"],
    ]);
    assert.deepEqual(clearRows([]).map((row) => row.value), ["/clear"]);
    assert.deepEqual(clearRows([turn(0), turn(1)]).map((row) => row.value), ["/clear"]);
});

test("revert offers every turn but the last, and the way back from a revert", () => {
    const rows = revertRows([turn(0, ""), turn(1, "a", { problem: "no repository" }), turn(2, "b"), turn(3, "c")], true);
    assert.deepEqual(rows.map(({ label, description, value }) => [label, description, value]), [
        ["After turn 2", "b", "/revert 2"],
        ["After turn 1", "a · files are not kept", "/revert 1"],
        ["Before the first turn", "", "/revert 0"],
        ["Take the last revert back", undefined, "/revert --undo"],
    ]);
    assert.deepEqual(revertRows([], false), []);
});

test("turns say what they changed", () => {
    const rows = turnRows([turn(0), turn(1, "a", { changed: { files: 2, additions: 3, deletions: 1 }, trimmed: true }), turn(2, "", { changed: { files: 0, additions: 0, deletions: 0 } })]);
    assert.deepEqual(rows, [
        { label: "2: …", description: "no changes", value: "2" },
        { label: "1: a", description: "2 files +3 −1 · not in the context", value: "1" },
    ]);
});

test("threads say whether they wait, work, and how full they are", () => {
    assert.equal(facts(thread("a", { asks: "x", busy: "turn" }), NOW), "waits for you · 5m");
    assert.equal(facts(thread("a", { busy: "turn" }), NOW), "working · 5m");
    const context = { percent: 41.6 } as ThreadOverview["context"];
    assert.deepEqual(threadRows([thread("a", { ...(context ? { context } : {}) })], NOW), [{ label: "a", description: "42% · 5m", value: "a" }]);
});

test("settings mark the one in force, also one that is not offered", () => {
    assert.deepEqual(settingRows([["a", "A"], ["b", "B"]], "b"), [{ label: "A", value: "a" }, { label: "B", value: "b", description: "now" }]);
    assert.deepEqual(settingRows([["a", "A"]], "odd").at(-1), { label: "odd", value: "odd", description: "now" });
});

test("a command is asked for words if its usage has any but switches", () => {
    const of = (usage: string) => takesWords({ name: "x", usage, summary: "", details: "" });
    assert.equal(of("/undo [--redo] [--force] [--dry-run]"), false);
    assert.equal(of("/stats"), false);
    assert.equal(of("/compress [target tokens] [--dry-run]"), true);
    assert.equal(of("/compact [--keep N] [--model M] [--dry-run] [guidance…]"), true);
    assert.equal(of("/search words…"), true);
});

test("a quoted selection has its place, and a fence that it does not hold", () => {
    assert.equal(quoted("a.md", 3, 5, "markdown", "x\n```\ny"), "a.md, lines 3 to 5:\n````markdown\nx\n```\ny\n````\n");
});

test("a diff is opened at its first change", () => {
    assert.equal(firstLine("--- a\n+++ b\n@@ -8,6 +8,7 @@ f\n one\n two\n three\n+new\n four\n"), 10);
    assert.equal(firstLine("@@ -1 +1 @@\n-a\n+b\n"), 0);
    assert.equal(firstLine(""), 0);
});

test("the program is the one that is set, else in PATH, the folder's environment, or at home", async () => {
    const places = { setting: "", path: "/usr/bin::relative:/opt/bin", home: "/home/me", folders: ["/w"] };
    assert.deepEqual(candidates(places), [
        "/usr/bin/trimpoint", "/opt/bin/trimpoint", "/w/.venv/bin/trimpoint", "/w/venv/bin/trimpoint",
        "/home/me/.local/bin/trimpoint", "/home/me/.trimpoint/bin/trimpoint",
    ]);
    assert.deepEqual(candidates({ ...places, setting: "~/t/trimpoint" }), ["/home/me/t/trimpoint"]);
    assert.deepEqual(candidates({ ...places, setting: "tools/trimpoint" }), ["/w/tools/trimpoint"]);
    const only = (wanted: string) => (path: string) => Promise.resolve(path === wanted);
    assert.equal(await findProgram(places, only("/w/venv/bin/trimpoint")), "/w/venv/bin/trimpoint");
    assert.equal(await findProgram({ ...places, setting: "/gone" }, only("/usr/bin/trimpoint")), null);
});

test("a daemon gets nothing of the editor's own environment", () => {
    assert.deepEqual(ownEnvironment({ PATH: "/bin", VSCODE_IPC_HOOK: "x", ELECTRON_RUN_AS_NODE: "1", NODE_OPTIONS: "--x", CODEX_HOME: "/c" }), { PATH: "/bin", CODEX_HOME: "/c" });
});

test("the page runs the script with the nonce alone, and loads nothing from elsewhere", () => {
    const files = { script: "https://x/main.js?a=1&b=\"2", styles: ["https://x/app.css"], source: "https://x" };
    const text = pageDocument(files, "NONCE", "#/in/%2Fw", "view");
    const policy = /content="(default-src[^"]*)"/.exec(text)?.[1] ?? "";
    assert.match(policy, /^default-src 'none'; script-src 'nonce-NONCE'; style-src https:\/\/x; img-src https:\/\/x data:;/);
    assert.doesNotMatch(policy, /unsafe|connect-src|\*/);
    assert.equal(text.match(/<script /g)?.length, 1);
    assert.match(text, /src="https:\/\/x\/main.js\?a=1&#38;b=&#34;2"/);
    assert.match(text, /data-address="#\/in\/%2Fw" data-home="view"/);
    assert.doesNotMatch(missingDocument(files, "<b>", "view"), /<b>|script/);
});

/** Threads of `/w` whose daemon has these. */
function listed(all: ThreadOverview[], folders: string[] = ["/w"]) {
    const asked: string[] = [];
    const told: string[] = [];
    const session = {
        request: <Answer>(method: string, params?: object) => {
            asked.push(`${method} ${(params as { threadId?: string })?.threadId ?? ""}`.trim());
            return Promise.resolve({ threads: [...all] } as Answer);
        },
    };
    return { threads: new Threads(session, () => folders, () => {}, (notice) => told.push(notice.said)), asked, told };
}

test("the threads of the workspace are those of its folders, those that wait first", async () => {
    const { threads } = listed([
        thread("old"), thread("new", { updatedAt: "2026-01-31T09:59:00.000Z" }), thread("asks", { cwd: "/w/sub", asks: "x", updatedAt: "2026-01-30T09:00:00.000Z" }),
        thread("beside", { cwd: "/work" }), thread("archived", { archived: true }),
    ]);
    assert.equal(threads.current?.id, undefined);
    await threads.refresh();
    assert.deepEqual(threads.here.map((one) => one.id), ["asks", "new", "old"]);
    assert.deepEqual(threads.waiting.map((one) => one.id), ["asks"]);
    assert.equal(threads.current?.id, "new");
    threads.show("beside", null);
    assert.equal(threads.current?.id, "beside");
});

test("what the daemon tells of the workspace's threads is passed on; that of other folders is not", () => {
    const { threads, asked, told } = listed([]);
    threads.onReady();
    for (const folder of ["/w", "/x", "/w/sub", "/work"]) {
        threads.onNotification("orchestration/notice", { threadId: "a", event: "asks", said: `asks in ${folder}`, title: "a", folder });
    }
    assert.deepEqual(told, ["asks in /w", "asks in /w/sub"]);
    assert.deepEqual(asked, ["orchestration/subscribeNotices"]);
    threads.dispose();
});

test("the current thread is followed, one at a time", async () => {
    const { threads, asked } = listed([thread("a"), thread("b", { updatedAt: "2026-01-01T00:00:00.000Z" })]);
    await threads.refresh();
    threads.show("b", null);
    threads.show("b", null);
    assert.deepEqual(asked, ["orchestration/snapshot", "orchestration/subscribeThread a", "orchestration/unsubscribeThread a", "orchestration/subscribeThread b"]);
    threads.dispose();
});

test("a daemon is older by its numbers, not by its letters", () => {
    const than = "0.10.2";
    assert.deepEqual(["0.9.9", "0.10", "0.10.2", "0.10.2.dev1", "1.0"].map((one) => isOlder(one, than)), [true, true, false, false, false]);
});

test("a draft is taken as it was left, and nothing is done with what is empty or unchanged and stands already", () => {
    const draft = { text: "The gist.\n", accept: "/accept draft:1", anew: "/compact --edit" };
    assert.deepEqual(["The gist.", "Mine.\n", " "].map((left) => accepting(draft, left)), ["/accept draft:1", "/accept draft:1 Mine.", null]);
    assert.equal(accepting({ ...draft, anew: null }, "The gist."), null);
});
