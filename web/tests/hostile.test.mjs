// What a model may write is drawn without an exception, and as nothing but text, code and safe links.
import assert from "node:assert/strict";
import { test } from "node:test";
import { renderToString } from "preact-render-to-string";
import { choicesOf, isKnown, titleOf } from "../app/model/approval.js";
import { linesOf } from "../app/model/fleet.js";
import { note, nothingLive } from "../app/model/live.js";
import { html, signal } from "../app/vendor.js";
import { Activity, summaryOf } from "../app/view/activity.js";
import { Questions } from "../app/view/cards.js";
import { Answer } from "../app/view/markdown.js";
import { ContextTrimPointDivider } from "../app/view/trim.js";
import { TurnView } from "../app/view/turn.js";

const SEEDS = Number(process.env.SEEDS ?? 5000);
const NAMES = ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf", "python", "sql", "", "\u202ejs", "a b", "9", "<b>", "null"];
const PIECES = [
    "```", "~~~", "`", "``", "**", "__", "*", "_", "~~", "# ", "###### ", "> ", "- ", "1. ", "99999999999. ", "- [ ] ", "| a | b |\n|--|--|\n| c |", "|--|",
    "\n", "\n\n", "    ", "\t", "[x](javascript:alert(1))", "[x](https://a.b)", "![x](data:image/svg+xml,<svg onload=alert(1)>)", "<script>x</script>",
    "<img src=x onerror=y>", "<a href='javascript:x'>", "&constructor;", "&copy;", "&#0;", "&#x110000;", "&#99999999;", "$$\\int$$", "$a$", "\\(", "\\)",
    "[a]: https://b 'c'", "[a]", "[^1]", "[^1]: x", "https://bank.example", "[https://bank.example](https://evil.example)", "\u202e", "\u0000", "\ud800", "🙂", "end",
];
const TYPES = ["commandExecution", "fileChange", "reasoning", "mcpToolCall", "webSearch", "plan", "contextCompaction", "agentMessage", "userMessage", "userInput", ...NAMES];
const VALUES = [undefined, null, 0, "", "x", "constructor", [], {}, [null], ["a"], { type: "add" }, { constructor: 1 }, true, -1, "declined", 1e21];
const ALLOWED = /^(?:div|p|span|button|section|h[1-6]|strong|em|del|code|pre|ul|ol|li|a|blockquote|table|thead|tbody|tr|th|td|hr|br|input|svg|path|time|form|fieldset|legend|label|kbd|img|dl|dt|dd)$/;

/** Returns a generator of numbers below a limit, the same for the same seed. */
function chooser(seed) {
    let state = (seed + 1) * 2654435761;
    return (limit) => {
        state = Math.imul(state ^ (state >>> 15), 2246822519) + 0x9e3779b9;
        return ((state ^ (state >>> 13)) >>> 0) % limit;
    };
}

function hostileText(choose) {
    const pieces = Array.from({ length: 1 + choose(12) }, () => {
        const piece = PIECES[choose(PIECES.length)];
        return piece === "```" ? `\n\`\`\`${NAMES[choose(NAMES.length)]}\n` : piece;
    });
    return pieces.join(choose(3) ? "" : " ");
}

function hostileDetail(choose) {
    const value = () => VALUES[choose(VALUES.length)];
    const change = () => ({ path: choose(3) ? "/w/a" : value(), kind: value(), diff: choose(3) ? hostileText(choose) : undefined });
    return choose(8) === 0 ? null : {
        status: value(), exitCode: choose(2) ? choose(300) : null, durationMs: choose(2) ? choose(1e6) : null,
        command: choose(2) ? hostileText(choose) : undefined, aggregatedOutput: choose(2) ? hostileText(choose) : null,
        changes: choose(2) ? Array.from({ length: choose(3) }, change) : undefined,
        summary: choose(2) ? [hostileText(choose)] : undefined, content: choose(2) ? [{ type: "text", text: hostileText(choose) }] : undefined,
    };
}

function assertPlain(drawn, seed) {
    for (const [, name, attributes] of drawn.matchAll(/<([a-z][\w-]*)((?:\s+[^\s=>"]+(?:="[^"]*")?)*)\s*\/?>/gi)) {
        assert.match(name, ALLOWED, `seed ${seed}: <${name}>`);
        for (const [, attribute, value] of attributes.matchAll(/\s+([^\s=>"]+)(?:="([^"]*)")?/g)) {
            assert.doesNotMatch(attribute, /^on/i, `seed ${seed}: ${attributes}`);
            assert.ok(attribute !== "href" || /^(?:https?:|mailto:)/i.test(value), `seed ${seed}: ${value}`);
        }
    }
}

test(`${SEEDS} hostile answers and activities are drawn as what they are`, () => {
    const app = { jump: signal(null), offers: () => true, panel: signal(null), wantedTurn: signal(null) };
    for (let seed = 0; seed < SEEDS; seed += 1) {
        const choose = chooser(seed);
        const text = hostileText(choose);
        const entries = Array.from({ length: 1 + choose(2) }, (_, at) => ({
            id: String(at), turnId: "t", kind: choose(3) ? "activity" : "message", role: TYPES[choose(TYPES.length)], text: hostileText(choose),
            createdAt: "2026-01-01T00:00:00Z", detail: hostileDetail(choose), discardId: choose(5) ? null : "d", isDone: true,
        }));
        const status = ["completed", "failed", "interrupted", "running", "constructor"][choose(5)];
        const turn = { id: "t", status, startedAt: "2026-01-01T00:00:00Z", completedAt: null, error: choose(2) ? text : null };
        const thread = { version: signal(0), liveVersion: signal(0), live: nothingLive(), questions: signal([]), isBusy: false, state: { cwd: "/w", turns: [turn] } };
        const row = { kind: "turn", key: "t", turn, number: 1, isTrimmed: choose(2) === 0, entries };
        try {
            const view = seed % 2 ? html`<${Answer} text=${text} />` : html`<${TurnView} app=${app} thread=${thread} row=${row} />`;
            assertPlain(renderToString(view), seed);
            for (const entry of entries.slice(0, 1)) {
                assertPlain(renderToString(html`<${Activity} entry=${entry} folder="/w" jump=${{ key: "t", entryId: entry.id, count: 1 }} />`), seed);
            }
            summaryOf(entries);
        } catch (error) {
            error.message = `seed ${seed}: ${error.message}`;
            throw error;
        }
    }
});

test("hostile questions, trims, deltas and events of a fleet are drawn as what they are", () => {
    const methods = ["item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval", "item/tool/requestUserInput"];
    for (let seed = 0; seed < SEEDS / 5; seed += 1) {
        const choose = chooser(seed);
        const name = () => NAMES[choose(NAMES.length)];
        const params = {
            command: choose(2) ? hostileText(choose) : null, reason: hostileText(choose), itemId: "i", cwd: name(), kind: name(), grantRoot: name(),
            permissions: { [name() || "x"]: VALUES[choose(VALUES.length)], fileSystem: { entries: [{ access: name(), path: VALUES[choose(VALUES.length)] }] } },
            availableDecisions: choose(2) ? ["accept", name(), { acceptWithExecpolicyAmendment: { execpolicy_amendment: [name()] } }, "decline"] : null,
            networkApprovalContext: choose(4) ? null : { host: name() },
            questions: [{ id: name(), question: hostileText(choose), options: choose(2) ? [{ label: name(), description: hostileText(choose) }] : null }],
        };
        const question = { id: 1, method: methods[choose(methods.length)], params };
        const live = nothingLive();
        note(live, "item/started", { turnId: "t", item: { type: name(), id: "i", ...hostileDetail(choose) } });
        const thread = { questions: signal([question]), live, liveVersion: signal(0), state: { cwd: "/w" } };
        assertPlain(renderToString(html`<${Questions} app=${{}} thread=${thread} />`), seed);
        titleOf(question);
        choicesOf(question, isKnown(question, []));
        const point = { id: "p", kind: choose(2) ? "boundary" : "discard", trigger: name(), count: 2, createdAt: "2026-01-01T00:00:00Z", summary: null, generation: 1 };
        const state = { session: { status: "ready", generation: 1 }, operation: null };
        assertPlain(renderToString(html`<${ContextTrimPointDivider} thread=${{ state }} row=${{ point, isExpanded: false }} />`), seed);
        linesOf([{ type: name(), payload: { method: name(), requestId: name() }, eventId: "e", occurredAt: "" }]);
    }
});
