// The list of threads, with a daemon whose answers are those of the test.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ThreadList } from "../app/store/thread_list.js";

const thread = (busy, asks = null, id = "t") => ({ id, name: "shop", busy, archived: false, asks, updatedAt: "2026-01-01T00:00:00Z" });

/** @param {import("node:test").TestContext} context */
function opened(context) {
    context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const answers = [];
    const asked = [];
    const list = new ThreadList({
        request: (_method, params) => new Promise((resolve) => {
            asked.push(params.threadIds);
            answers.push((busy, asks, ...others) => resolve({ threads: [thread(busy, asks), ...others] }));
        }),
    });
    const settled = () => new Promise(setImmediate);
    const pass = (ms) => {
        context.mock.timers.tick(ms);
        return settled();
    };
    return { list, answers, asked, settled, pass };
}

test("lists are asked for one after the other, so that no older one comes later", async (context) => {
    const { list, answers, settled } = opened(context);
    list.refresh();
    await settled();
    list.refresh();
    await settled();
    assert.equal(answers.length, 1);
    answers[0]("turn: running");
    await settled();
    answers[1](null);
    await settled();
    assert.equal(list.threads.value[0].busy, null);
});

test("of many threads only those that have changed are asked for", async (context) => {
    const { list, answers, asked, settled, pass } = opened(context);
    list.refresh();
    await settled();
    answers[0](null, null, thread(null, null, "other"), thread(null, null, "gone"));
    await settled();
    list.note("thread/status/changed", { threadId: "t", status: { type: "active" } });
    list.note("thread/deleted", { threadId: "gone" });
    list.note("thread/started", { thread: { id: "new" } });
    await pass(1_000);
    answers[1]("turn: running", null, thread(null, null, "new"));
    await settled();
    list.refreshSoon();
    await pass(1_000);
    assert.deepEqual(asked, [undefined, ["t", "gone", "new"], undefined]);
    assert.deepEqual(list.threads.value.map(({ id, busy }) => [id, busy]), [["t", "turn: running"], ["new", null], ["other", null]]);
});

test("a list is asked for however often threads change", async (context) => {
    const { list, answers, pass } = opened(context);
    for (let at = 0; at < 10; at += 1) {
        list.refreshSoon();
        await pass(100);
        answers.at(-1)?.(null);
    }
    assert.ok(answers.length >= 4);
});

test("a thread that asks is shown to ask although Codex said so before the daemon had its question", async (context) => {
    const { list, answers, settled, pass } = opened(context);
    list.note("thread/status/changed", { threadId: "t", status: { type: "active", activeFlags: ["waitingOnApproval"] } });
    await pass(1_000);
    answers[0]("turn: running");
    await settled();
    await pass(5_000);
    answers[1]("turn: running", "item/commandExecution/requestApproval");
    await settled();
    assert.equal(list.threads.value[0].asks, "item/commandExecution/requestApproval");
    await pass(60_000);
    assert.equal(answers.length, 2);
});

test("the end of a thread that Codex said to rest before it was over is shown", async (context) => {
    const { list, answers, settled, pass } = opened(context);
    list.note("thread/status/changed", { threadId: "t", status: { type: "active" } });
    await pass(1_000);
    answers[0]("turn: running");
    await settled();
    await pass(60_000);
    assert.equal(answers.length, 1);
    list.note("thread/status/changed", { threadId: "t", status: { type: "idle" } });
    await pass(1_000);
    answers[1]("compaction: summarizing");
    await settled();
    await pass(5_000);
    answers[2](null);
    await settled();
    assert.equal(list.threads.value[0].busy, null);
    await pass(60_000);
    assert.equal(answers.length, 3);
});
