/**
 * The menu of files for `@` and some letters in the prompt: Codex searches, arrows choose, Tab or Enter takes.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 */
import { fileTyped, pathsOf, spelledPath } from "../model/files.js";
import { html, useEffect, useState } from "../vendor.js";

/** Searches go one after the other: of several at once Codex may cancel the newest. */
let asked = Promise.resolve();

/**
 * @param {App} app
 * @param {Thread} thread
 * @param {string} text
 * @param {(text: string) => void} setText
 * @param {{current: HTMLTextAreaElement | null}} box
 */
export function useFiles(app, thread, text, setText, box) {
    const [found, setFound] = useState({ word: "", paths: /** @type {string[]} */ ([]) });
    const [chosen, setChosen] = useState(0);
    const [closedFor, setClosedFor] = useState("");
    const end = box.current?.selectionStart ?? text.length;
    const word = fileTyped(text.slice(0, end));
    const folder = thread.state?.cwd;
    useEffect(() => {
        let isCurrent = true;
        setChosen(0);
        if (word.length > 1 && folder) {
            const ask = async () => {
                if (isCurrent) {
                    const answer = await app.session.read("fuzzyFileSearch", { query: word.slice(1), roots: [folder] });
                    isCurrent && setFound({ word, paths: pathsOf(answer) });
                }
            };
            asked = asked.then(ask).catch(() => {});
        }
        return () => {
            isCurrent = false;
        };
    }, [word, folder]);
    const isOpen = word.length > 1 && found.word === word && found.paths.length > 0 && closedFor !== word;
    /** @param {string} path */
    const take = (path) => {
        const before = `${text.slice(0, end - word.length)}${spelledPath(path)} `;
        setText(before + text.slice(end));
        setTimeout(() => box.current?.setSelectionRange(before.length, before.length));
        box.current?.focus();
    };
    return {
        attributes: isOpen ? { "aria-controls": "files-menu", "aria-activedescendant": `file-${chosen}`, "aria-autocomplete": "list", "aria-haspopup": "listbox" } : {},
        /** @param {KeyboardEvent} event */
        onKey(event) {
            if (!isOpen) {
                return false;
            }
            const { paths } = found;
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
                setChosen((chosen + (event.key === "ArrowDown" ? 1 : paths.length - 1)) % paths.length);
            } else if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey && word !== spelledPath(paths[chosen]))) {
                take(paths[chosen]);
            } else if (event.key === "Escape") {
                setClosedFor(word);
            } else {
                return false;
            }
            event.preventDefault();
            return true;
        },
        view: () => isOpen && html`
            <ul class="slash-menu" id="files-menu" role="listbox" tabindex="0" aria-label="Files">
                ${found.paths.map((path, at) => html`
                    <li key=${path} id=${`file-${at}`} role="option" aria-selected=${at === chosen} onMouseMove=${() => setChosen(at)}
                        onMouseDown=${(/** @type {Event} */ event) => { event.preventDefault(); take(path); }}><code dir="ltr">${path}</code></li>
                `)}
            </ul>
        `,
    };
}
