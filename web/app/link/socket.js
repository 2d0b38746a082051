/**
 * Lines over a WebSocket.
 *
 * @import {Carrier} from "./lines.js"
 */

// The daemon then sends what goes out together in one message: a browser takes longer for a message than for its text.
const LINES = "trimpoint.lines";

/**
 * @param {string} url
 * @returns {Carrier}
 */
export function overWebSocket(url) {
    return (listener) => {
        const socket = new WebSocket(url, LINES);
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
        return (await fetch("/", { method: "HEAD", cache: "no-store" })).status === 401;
    } catch {
        return false; // nothing answers at all
    }
}
