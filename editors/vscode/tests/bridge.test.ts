// The bridge between page and daemon, and the extension's own client, on a real Unix socket.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { FromEditor } from "../../../web/app/link/messages.js";
import { Session } from "../src/client/session.js";
import { LineReader } from "../src/daemon/lines.js";
import { Bridge } from "../src/page/bridge.js";

let folder: string;
let server: Server;
let path: string;
let accepted: ((socket: Socket) => void)[] = [];

before(async () => {
    folder = mkdtempSync(join(tmpdir(), "tpvsc"));
    path = join(folder, "s");
    server = createServer((socket) => accepted.shift()?.(socket));
    await new Promise<void>((resolve) => server.listen(path, resolve));
});
after(() => {
    server.close();
    rmSync(folder, { recursive: true });
});

function opened(): Promise<Socket> {
    return new Promise((resolve) => {
        const socket = connect(path, () => resolve(socket));
        socket.on("error", () => {});
    });
}

const nextClient = () => new Promise<Socket>((resolve) => accepted.push(resolve));

/** What was posted, and a way to wait for it. */
class Page {
    readonly got: FromEditor[] = [];
    private waiting: (() => void)[] = [];
    readonly problems: string[] = [];
    readonly shown: (string | null)[] = [];
    readonly bridge = new Bridge({
        connect: () => this.connect(),
        post: (message) => {
            this.got.push(message);
            this.waiting.splice(0).forEach((resolve) => resolve());
        },
        onShown: (threadId) => this.shown.push(threadId),
        onProblem: (error) => this.problems.push(error.message),
    });

    constructor(private readonly connect: () => Promise<Socket> = opened) {}

    async until(type: FromEditor["type"], count = 1): Promise<void> {
        while (this.got.filter((one) => one.type === type).length < count) {
            await new Promise<void>((resolve) => this.waiting.push(resolve));
        }
    }

    lines(): string[] {
        return this.got.flatMap((one) => (one.type === "received" ? one.lines : []));
    }
}

test("lines are whole wherever they were cut, also inside a letter", () => {
    const bytes = Buffer.from('{"a":"ä€😀"}\n\n{"b":1}\nrest');
    for (let size = 1; size <= bytes.length; size += 1) {
        const reader = new LineReader();
        const lines = [];
        for (let at = 0; at < bytes.length; at += size) {
            lines.push(...reader.push(bytes.subarray(at, at + size)));
        }
        assert.deepEqual(lines, ['{"a":"ä€😀"}', '{"b":1}']);
    }
});

test("the page's lines reach the daemon, and the daemon's the page", async () => {
    const page = new Page();
    const client = nextClient();
    page.bridge.take({ type: "open" });
    const socket = await client;
    await page.until("opened");
    const said = new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes))));
    page.bridge.take({ type: "send", line: '{"id":1}' });
    assert.equal(await said, '{"id":1}\n');
    socket.write('{"id":1,"result":{}}\n{"method":"x"}\n');
    await page.until("received");
    assert.deepEqual(page.lines(), ['{"id":1,"result":{}}', '{"method":"x"}']);
    socket.end();
    await page.until("closed");
    page.bridge.dispose();
});

test("what is no message of the page, or more than one line, is dropped", async () => {
    const page = new Page();
    const client = nextClient();
    page.bridge.take({ type: "open" });
    const socket = await client;
    await page.until("opened");
    const said = new Promise<string>((resolve) => socket.once("data", (bytes) => resolve(String(bytes))));
    for (const strange of [null, undefined, 7, "open", {}, { type: "send" }, { type: "send", line: 7 }, { type: "send", line: "a\nb" }]) {
        page.bridge.take(strange as never);
    }
    page.bridge.take({ type: "send", line: "whole" });
    assert.equal(await said, "whole\n");
    page.bridge.dispose();
});

test("a page that was loaded anew has one connection, and hears nothing of the one before", async () => {
    const page = new Page();
    const clients = [nextClient(), nextClient()];
    page.bridge.take({ type: "open" });
    const first = await clients[0];
    const ended = new Promise((resolve) => first?.once("close", resolve));
    await page.until("opened");
    page.bridge.take({ type: "open" });
    await ended;
    const second = await clients[1];
    await page.until("opened", 2);
    second?.write("only\n");
    await page.until("received");
    assert.deepEqual(page.lines(), ["only"]);
    assert.deepEqual(page.got.filter((one) => one.type === "closed"), []);
    page.bridge.dispose();
});

test("a daemon that cannot be reached closes the page's connection, with the reason", async () => {
    const page = new Page(() => Promise.reject(new Error("no daemon")));
    page.bridge.take({ type: "open" });
    await page.until("closed");
    assert.deepEqual(page.got, [{ type: "closed", problem: "no daemon" }]);
    assert.deepEqual(page.problems, ["no daemon"]);
});

test("a page that is gone has no connection, also if it is made afterwards", async () => {
    let give: (socket: Socket) => void = () => {};
    const page = new Page(() => new Promise((resolve) => (give = resolve)));
    page.bridge.take({ type: "open" });
    page.bridge.dispose();
    const socket = await opened();
    const ended = new Promise((resolve) => socket.once("close", resolve));
    give(socket);
    await ended;
    assert.deepEqual(page.got, []);
});

test("what the page shows is told", () => {
    const page = new Page();
    page.bridge.take({ type: "shows", threadId: "t", settings: null });
    assert.deepEqual(page.shown, ["t"]);
});

/** A daemon that answers every request with its method. */
function serve(socket: Socket): void {
    const reader = new LineReader();
    socket.on("data", (bytes) => {
        for (const line of reader.push(bytes)) {
            const { id, method } = JSON.parse(line) as { id?: number; method: string };
            if (id !== undefined) {
                socket.write(`${JSON.stringify({ id, result: { method } })}\n`);
            }
        }
    });
}

test("the client shakes hands, answers, and comes back after its daemon has died", async () => {
    const ready: (() => void)[] = [];
    const nextReady = () => new Promise<void>((resolve) => ready.push(resolve));
    let lost = 0;
    const session = new Session(opened, "1", {
        onReady: () => ready.shift()?.(),
        onLost: () => (lost += 1),
        onNotification: () => {},
        onProblem: () => {},
    });
    const [one, two] = [nextClient(), nextClient()];
    const first = nextReady();
    session.connect();
    serve(await one);
    await first;
    assert.deepEqual(await session.request("orchestration/snapshot"), { method: "orchestration/snapshot" });
    const second = nextReady();
    (await one).destroy();
    serve(await two);
    await second;
    assert.equal(lost, 1);
    assert.deepEqual(await session.request("commands/list"), { method: "commands/list" });
    session.dispose();
    await assert.rejects(session.request("commands/list"));
});
