/**
 * Lines over a WebSocket.
 *
 * @import {Carrier} from "./lines.js"
 */
import { keptLogin } from "./login.js";

// The daemon then sends what goes out together in one message: a browser takes longer for a message than for its text.
const LINES = "trimpoint.lines";
// The only header of a WebSocket that a page chooses.
const LOGIN = "trimpoint.login.";

/**
 * @param {string} url
 * @returns {Carrier}
 */
export function overWebSocket(url) {
    return (listener) => {
        const socket = new WebSocket(url, [LINES, `${LOGIN}${keptLogin() ?? "none"}`]);
        let hasOpened = false;
        socket.onopen = () => {
            hasOpened = true;
            listener.onOpen((line) => {
                if (socket.readyState === WebSocket.OPEN) {
                    socket.send(line);
                }
            });
        };
        socket.onmessage = (event) => {
            for (const line of event.data.split("\n")) {
                listener.onLine(line);
            }
        };
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
