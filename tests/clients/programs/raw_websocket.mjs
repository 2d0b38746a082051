// A program without an SDK: `ws` (npm) and JSON; prints what it was told.
import { createRequire } from "node:module";

const [modules, url, token, folder] = process.argv.slice(2);
const WebSocket = createRequire(`${modules}/`)("ws");
const socket = new WebSocket(url, { headers: { Authorization: `Bearer ${token}` } });
const waiting = new Map();
const ended = [];
let lastId = 0;

const show = (what, value) => console.log(`${what}: ${JSON.stringify(value)}`);

const ask = (method, params = {}) =>
  new Promise((resolve, reject) => {
    waiting.set(++lastId, { resolve, reject });
    socket.send(JSON.stringify({ id: lastId, method, params }));
  });

const turn = async (threadId, text) => {
  const seen = new Promise((resolve) => ended.push(resolve));
  await ask("turn/start", { threadId, input: [{ type: "text", text }] });
  return seen;
};

const said = [];
socket.on("message", (data, isBinary) => {
  if (isBinary) throw new Error("a binary message");
  const message = JSON.parse(data.toString());
  if (message.method === undefined) {
    const { resolve, reject } = waiting.get(message.id);
    return message.error ? reject(new Error(message.error.message)) : resolve(message.result);
  }
  if (message.method === "item/agentMessage/delta") said.push(message.params.delta);
  if (message.method === "turn/completed") {
    ended.shift()?.({ status: message.params.turn.status, text: said.splice(0).join("") });
  }
});

socket.on("error", (error) => {
  console.error(error);
  process.exit(1);
});

socket.on("open", async () => {
  await ask("initialize", { clientInfo: { name: "raw", version: "1" }, capabilities: { experimentalApi: true } });
  socket.send(JSON.stringify({ method: "initialized" }));
  const start = { cwd: folder, approvalPolicy: "never", sandbox: "danger-full-access" };
  const { thread } = await ask("thread/start", start);
  for (const word of ["one", "two"]) show("turn", await turn(thread.id, `Say ${word}.`));
  show("run", await turn(thread.id, "Run something."));
  const read = await ask("thread/read", { threadId: thread.id, includeTurns: true });
  show("read", read.thread.turns.map((one) => one.items.map((item) => item.type)));
  show("error", await ask("thread/read", { threadId: "none" }).catch((error) => error.message));
  show("typed", await turn(thread.id, "/clear 1"));
  show("turn", await turn(thread.id, "Say four."));
  socket.close();
});
