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
        socket.onopen = () => {
            listener.onOpen((line) => {
                if (socket.readyState === WebSocket.OPEN) {
                    socket.send(line);
                }
            });
        };
        socket.onmessage = (event) => listener.onLine(event.data);
        socket.onclose = listener.onClose;
        return { close: () => socket.close(), isClosed: () => socket.readyState === WebSocket.CLOSED };
    };
}
