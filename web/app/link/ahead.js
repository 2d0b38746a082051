/**
 * What the page says first. Over a slow link a small script says it while the page itself is still on its way (`early.js`); the
 * page takes that connection over, and does not say it again.
 */
import { openedSocket } from "./socket.js";

/** Of a thread: more than a screen holds, and little for a slow link. */
const FIRST = { turns: 12, entries: 24 };
const QUIET = ["rawResponseItem/completed", "rawResponse/completed", "turn/diff/updated", "account/rateLimits/updated"];

export const HELLO = {
    clientInfo: { name: "trimpoint-web", title: "trimpoint", version: "1" },
    capabilities: { experimentalApi: true, optOutNotificationMethods: QUIET },
};
export const FOLLOW = "orchestration/subscribeThread";

/**
 * Returns the parameters with which a thread is followed.
 * @param {string} threadId
 * @param {number | null} afterSequence
 */
export function following(threadId, afterSequence) {
    return { threadId, afterSequence, ...FIRST };
}

/** @typedef {{socket: WebSocket, said: string[], heard: MessageEvent[]}} Ahead what was said, in order, and what came of it */

/**
 * Connects, and asks for a thread.
 * @param {string | null} threadId
 * @returns {Ahead}
 */
export function ahead(threadId) {
    const socket = openedSocket();
    /** @type {Ahead} */
    const begun = { socket, said: [], heard: [] };
    // As a `Peer` writes them: the page recognizes them by their text.
    const messages = [
        { id: 1, method: "initialize", params: HELLO },
        { method: "initialized" },
        ...(threadId ? [{ id: 2, method: FOLLOW, params: following(threadId, null) }] : []),
    ];
    socket.onopen = () => {
        begun.said = messages.map((message) => JSON.stringify(message));
        begun.said.forEach((line) => socket.send(line));
    };
    socket.onmessage = (event) => begun.heard.push(event);
    return begun;
}
