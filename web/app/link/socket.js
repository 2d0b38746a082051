/**
 * Lines over a WebSocket that comes back after it was lost.
 */

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;

/**
 * @typedef {object} LineListener
 * @property {(send: (line: string) => void) => void} onOpen
 * @property {(line: string) => void} onLine
 * @property {(retryInMs: number) => void} onClose
 */

/**
 * Connects, and again whenever the connection is lost, until `stop` of the result is called.
 * @param {string} url
 * @param {LineListener} listener
 */
export function connect(url, listener) {
    let attempts = 0;
    let timer = 0;
    let isOver = false;
    /** @type {WebSocket} */
    let socket;

    const open = () => {
        clearTimeout(timer);
        socket = new WebSocket(url);
        const mine = socket;
        mine.onopen = () => {
            attempts = 0;
            listener.onOpen((line) => {
                if (mine.readyState === WebSocket.OPEN) {
                    mine.send(line);
                }
            });
        };
        mine.onmessage = (event) => listener.onLine(event.data);
        mine.onclose = () => {
            if (isOver) {
                return;
            }
            const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS);
            attempts += 1;
            timer = setTimeout(open, pauseMs);
            listener.onClose(pauseMs);
        };
    };
    // A laptop that wakes up, or a network that is back, need not wait for the pause to end.
    const hurry = () => {
        if (!isOver && socket.readyState === WebSocket.CLOSED) {
            open();
        }
    };
    addEventListener("online", hurry);
    addEventListener("focus", hurry);
    open();
    return {
        stop() {
            isOver = true;
            clearTimeout(timer);
            removeEventListener("online", hurry);
            removeEventListener("focus", hurry);
            socket.close();
        },
    };
}
