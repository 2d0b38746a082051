/**
 * The desktop shell around the page: it carries lines to the sidecar's process, and shows what a page cannot. An editor
 * around it does the same (`editor.js`).
 *
 * @import {Carrier} from "./lines.js"
 */

/**
 * What the shell offers, as Qt's own channel hands it over: a method answers later, a signal calls back. `notify` is null where
 * the shell tells a person by itself, and `hasKeys` says that the keys with Ctrl, and Alt with a digit, are the shell's.
 * @typedef {object} ShellObject
 * @property {() => void} open
 * @property {() => void} close
 * @property {(line: string) => void} send
 * @property {((title: string, text: string) => void) | null} notify
 * @property {boolean} [hasKeys]
 * @property {(share: number, words: string) => void} showMeter
 * @property {(threadId: string | null, settings: import("../model/settings.js").Settings | null) => void} [showThread]
 * @property {{connect: (call: (line: string) => void) => void}} received
 * @property {{connect: (call: () => void) => void}} opened
 * @property {{connect: (call: (problem: string) => void) => void}} closed
 * @property {{connect: (call: (name: string, argument?: string) => void) => void}} chosen
 */

/** Returns whether this page is shown by the desktop shell. */
export function isInShell() {
    return location.protocol === "trimpoint:";
}

/** @returns {Promise<ShellObject>} */
export async function shellObject() {
    // Only the shell serves this module: it is Qt's.
    const { QWebChannel } = await import("./qwebchannel.js");
    return new Promise((resolve) => {
        new QWebChannel(/** @type {any} */ (globalThis).qt.webChannelTransport, (channel) => resolve(channel.objects.shell));
    });
}

/**
 * @param {ShellObject} shell
 * @returns {Carrier}
 */
export function overShell(shell) {
    /** @type {import("./lines.js").LineListener | null} */
    let current = null;
    shell.opened.connect(() => current?.onOpen((line) => shell.send(line)));
    shell.received.connect((line) => current?.onLine(line));
    shell.closed.connect(() => {
        const ended = current;
        current = null;
        ended?.onClose();
    });
    return (listener) => {
        current = listener;
        shell.open();
        return { close: () => shell.close(), isClosed: () => current !== listener };
    };
}
