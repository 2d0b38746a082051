/**
 * Lines over a connection that comes back after it was lost, whatever carries it.
 */

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 8000;
// All pages that were cut off at the same time need not come back at the same time.
const SPREAD = 0.3;

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
    let count = 0;

    const open = () => {
        clearTimeout(timer);
        count += 1;
        const number = count;
        const isPresent = () => number === count && !isOver; // of one that was given up nothing is taken any more
        connection = carrier({
            onOpen: (send) => isPresent() && listener.onOpen(send),
            onLoggedOut: listener.onLoggedOut,
            onLine: (line) => {
                if (isPresent()) {
                    attempts = 0; // a carrier that opens and ends at once is not asked again and again
                    listener.onLine(line);
                }
            },
            onClose: () => isPresent() && lose(),
        });
    };
    const lose = () => {
        count += 1;
        const pause = Math.min(FIRST_PAUSE_MS * 2 ** attempts, LONGEST_PAUSE_MS);
        timer = setTimeout(open, pause * (1 + SPREAD * Math.random()));
        attempts += 1;
        listener.onClose();
    };
    // A laptop that wakes up, or a network that is back, need not wait for the pause to end.
    const hurry = () => {
        if (!isOver && connection?.isClosed()) {
            clearTimeout(timer);
            open();
        }
    };
    addEventListener("online", hurry);
    addEventListener("focus", hurry);
    open();
    return {
        /** Gives up a connection that is dead, though it has not ended. */
        giveUp() {
            const dead = connection;
            lose();
            dead?.close();
        },
        stop() {
            isOver = true;
            clearTimeout(timer);
            removeEventListener("online", hurry);
            removeEventListener("focus", hurry);
            connection?.close();
        },
    };
}
