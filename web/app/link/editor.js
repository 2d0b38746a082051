/**
 * The editor around the page: it carries lines to the daemon's socket by messages, and shows what a page cannot.
 *
 * @import {FromEditor, ToEditor} from "./messages.js"
 * @import {ShellObject} from "./shell.js"
 */

/** @typedef {{postMessage: (message: ToEditor) => void, getState: () => any, setState: (state: object) => void}} EditorApi */

/** Returns whether this page is shown by an editor. */
export function isInEditor() {
    return "acquireVsCodeApi" in globalThis;
}

/** @returns {ShellObject} */
export function editorShell() {
    const api = /** @type {EditorApi} */ (/** @type {any} */ (globalThis).acquireVsCodeApi());
    const [opened, received, closed, chosen] = [signalOf(), signalOf(), signalOf(), signalOf()];
    addEventListener("message", ({ data }) => {
        const message = /** @type {FromEditor} */ (data);
        switch (message.type) {
            case "opened":
                opened.emit();
                break;
            case "received":
                message.lines.forEach((line) => received.emit(line));
                break;
            case "closed":
                closed.emit(message.problem);
                break;
            case "chosen":
                chosen.emit(message.name, message.argument);
                break;
        }
    });
    location.hash ||= api.getState()?.hash ?? document.body.dataset.address ?? "";
    document.addEventListener("click", followLink);
    return {
        open: () => api.postMessage({ type: "open" }),
        close: () => api.postMessage({ type: "close" }),
        send: (line) => api.postMessage({ type: "send", line }),
        notify: null,
        hasKeys: true,
        showMeter: (share, words) => api.postMessage({ type: "meter", share, words }),
        showThread: (threadId, settings) => {
            api.setState({ hash: location.hash });
            api.postMessage({ type: "shows", threadId, settings });
        },
        opened, received, closed, chosen,
    };
}

/** What `connect` is given is called with what is emitted. */
function signalOf() {
    /** @type {((...words: any[]) => void)[]} */
    const calls = [];
    return {
        /** @param {(...words: any[]) => void} call */
        connect: (call) => void calls.push(call),
        /** @param {any[]} words */
        emit: (...words) => calls.forEach((call) => call(...words)),
    };
}

/**
 * Goes to a place of the page: the editor would look for an element of that name.
 * @param {Event} event
 */
function followLink(event) {
    const link = /** @type {Element} */ (event.target).closest?.("a[href^='#/']");
    if (link) {
        event.preventDefault();
        event.stopPropagation();
        location.hash = link.getAttribute("href") ?? "";
    }
}
