/**
 * Lines over a WebSocket.
 *
 * @import {Ahead} from "./ahead.js"
 * @import {Carrier} from "./lines.js"
 */
import { keptLogin } from "./login.js";

// The daemon then sends what goes out together in one message: a browser takes longer for a message than for its text.
const LINES = "trimpoint.lines";
// The only header of a WebSocket that a page chooses.
const LOGIN = "trimpoint.login.";

/** Returns a connection to the daemon that has served the page. */
export function openedSocket() {
    const scheme = location.protocol === "https:" ? "wss:" : "ws:";
    return new WebSocket(`${scheme}//${location.host}/rpc`, [LINES, `${LOGIN}${keptLogin() ?? "none"}`]);
}

/**
 * @param {Ahead} [ahead] the connection that is there already, for the first time
 * @returns {Carrier}
 */
export function overWebSocket(ahead) {
    return (listener) => {
        const begun = ahead && ahead.socket.readyState <= WebSocket.OPEN ? ahead : null;
        ahead = undefined;
        const socket = begun?.socket ?? openedSocket();
        const said = begun?.said ?? [];
        let hasOpened = false;
        /** @param {MessageEvent} event */
        const hear = (event) => {
            for (const line of event.data.split("\n")) {
                listener.onLine(line);
            }
        };
        const begin = () => {
            hasOpened = true;
            listener.onOpen((line) => {
                if (said.length > 0) {
                    if (said.shift() !== line) {
                        socket.close(); // the address has changed meanwhile: the next connection begins with what it names now
                    }
                } else if (socket.readyState === WebSocket.OPEN) {
                    socket.send(line);
                }
            });
            begun?.heard.forEach(hear);
        };
        socket.onopen = begin;
        socket.onmessage = hear;
        if (socket.readyState === WebSocket.OPEN) {
            begin();
        }
        socket.onclose = async () => {
            listener.onClose();
            if (!hasOpened && (await isLoggedOut())) {
                listener.onLoggedOut?.();
            }
        };
        return { close: () => socket.close(), isClosed: () => socket.readyState === WebSocket.CLOSED };
    };
}

/** A browser does not tell why it got no WebSocket. */
async function isLoggedOut() {
    try {
        const headers = { Authorization: `Bearer ${keptLogin() ?? "none"}` };
        return (await fetch("/api/v1/commands", { method: "HEAD", headers, cache: "no-store" })).status === 401;
    } catch {
        return false; // nothing answers at all
    }
}
