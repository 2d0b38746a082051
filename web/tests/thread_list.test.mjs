// The list of threads, with a daemon whose answers are those of the test.
import assert from "node:assert/strict";
import { test } from "node:test";

import { ThreadList } from "../app/store/thread_list.js";

const thread = (busy, asks = null) => ({ id: "t", name: "shop", busy, archived: false, asks });

/** @param {import("node:test").TestContext} context */
function opened(context) {
    context.mock.timers.enable({ apis: ["setTimeout", "Date"] });
    const answers = [];
    const told = [];
    const list = new ThreadList(
        { request: () => new Promise((resolve) => answers.push((busy, asks) => resolve({ threads: [thread(busy, asks)] }))) },
        { tell: (what, _id, title) => told.push(`${what}: ${title}`) },
    );
    const settled = () => new Promise(setImmediate);
    return { list, answers, told, settled, pass: (ms) => context.mock.timers.tick(ms) };
}

test("an older list that comes later changes nothing", async (context) => {
    const { list, answers, settled } = opened(context);
    list.refresh();
    list.refresh();
    answers[1](null);
    await settled();
    answers[0]("turn: running");
    await settled();
    assert.equal(list.threads.value[0].busy, null);
});

test("a list is asked for however often threads change", (context) => {
    const { list, answers, pass } = opened(context);
    for (let at = 0; at < 10; at += 1) {
        list.refreshSoon();
        pass(100);
    }
    assert.ok(answers.length >= 4);
});

test("a thread that asks is told although Codex said so before the daemon had its question", async (context) => {
    const { list, answers, told, settled, pass } = opened(context);
    list.note("thread/status/changed", { threadId: "t", status: { type: "active", activeFlags: ["waitingOnApproval"] } });
    pass(1_000);
    answers[0]("turn: running");
    await settled();
    pass(5_000);
    answers[1]("turn: running", "item/commandExecution/requestApproval");
    await settled();
    assert.deepEqual(told, ["The agent asks: shop"]);
    pass(60_000);
    assert.equal(answers.length, 2);
});

test("the end of a thread that Codex said to rest before it was over is told", async (context) => {
    const { list, answers, told, settled, pass } = opened(context);
    list.note("thread/status/changed", { threadId: "t", status: { type: "active" } });
    pass(1_000);
    answers[0]("turn: running");
    await settled();
    pass(60_000);
    assert.equal(answers.length, 1);
    list.note("thread/status/changed", { threadId: "t", status: { type: "idle" } });
    pass(1_000);
    answers[1]("compaction: summarizing");
    await settled();
    pass(5_000);
    answers[2](null);
    await settled();
    assert.deepEqual(told, ["The agent is done: shop"]);
    pass(60_000);
    assert.equal(answers.length, 3);
});
