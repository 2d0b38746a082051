/**
 * Lines over a connection that comes back after it was lost, whatever carries it.
 */

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;

/**
 * @typedef {object} LineListener
 * @property {(send: (line: string) => void) => void} onOpen
 * @property {(line: string) => void} onLine
 * @property {() => void} onClose
 * @property {() => void} [onLoggedOut] the daemon is there, and does not know this browser
 */

/**
 * Begins one connection; it is over when `onClose` was called, which `close` does too.
 * @typedef {(listener: LineListener) => Connection} Carrier
 * @typedef {{close: () => void, isClosed: () => boolean}} Connection
 */

/**
 * Connects, and again whenever the connection is lost, until `stop` of the result is called.
 * @param {Carrier} carrier
 * @param {LineListener} listener
 */
export function connect(carrier, listener) {
    let attempts = 0;
    let timer = 0;
    let isOver = false;
    /** @type {Connection | null} */
    let connection = null;

    const open = () => {
        clearTimeout(timer);
        connection = carrier({
            onOpen: listener.onOpen,
            onLoggedOut: listener.onLoggedOut,
            onLine: (line) => {
                attempts = 0; // a carrier that opens and ends at once is not asked again and again
                listener.onLine(line);
            },
            onClose: () => {
                if (!isOver) {
                    timer = setTimeout(open, Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS));
                    attempts += 1;
                    listener.onClose();
                }
            },
        });
    };
    // A laptop that wakes up, or a network that is back, need not wait for the pause to end.
    const hurry = () => {
        if (!isOver && connection?.isClosed()) {
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
            connection?.close();
        },
    };
}
