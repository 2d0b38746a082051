/**
 * Lines over a WebSocket.
 *
 * @import {Carrier} from "./lines.js"
 */

/**
 * @param {string} url
 * @returns {Carrier}
 */
export function overWebSocket(url) {
    return (listener) => {
        const socket = new WebSocket(url);
        let hasOpened = false;
        socket.onopen = () => {
            hasOpened = true;
            listener.onOpen((line) => {
                if (socket.readyState === WebSocket.OPEN) {
                    socket.send(line);
                }
            });
        };
        socket.onmessage = (event) => listener.onLine(event.data);
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
