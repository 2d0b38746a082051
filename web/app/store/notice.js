/**
 * What is said to the person, until it is dismissed or the next thing is said.
 *
 * @import {Signal} from "../vendor.js"
 */

/** @typedef {{kind: "done" | "problem", text: string, hint?: string, undo?: string | null, force?: string, isLost?: boolean}} Notice `isLost`: only because of the connection */

const SHOWN_FOR_MS = 15_000;
const SHORT = 120; // characters; a longer one was asked for, to be read

/**
 * Takes a notice away after a while, if it says in short that something went well: it needs no dismissal.
 * @param {Signal<Notice | null>} shown
 */
export function forgetSoon(shown) {
    const notice = shown.value;
    if (notice?.kind === "done" && !notice.undo && notice.text.length < SHORT) {
        setTimeout(() => {
            shown.value = shown.value === notice ? null : shown.value;
        }, SHOWN_FOR_MS);
    }
}

/**
 * Says what the daemon warns of. The answer that opens its thread may come in one piece with the warning, and is read first.
 * @param {Signal<Notice | null>} shown
 * @param {string} text
 * @param {() => boolean} isAboutOpen
 */
export function warnLater(shown, text, isAboutOpen) {
    setTimeout(() => {
        if (isAboutOpen()) {
            shown.value = { kind: "problem", text };
        }
    });
}
