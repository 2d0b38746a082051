/**
 * The way from a diff into the person's editor, which each browser knows for itself.
 */
import { addressOf, changedLine, isTemplate } from "../model/file_link.js";
import { keep, read } from "../store/kept.js";
import { html, signal, useState } from "../vendor.js";
import { Dialog } from "./dialogs.js";
import { Icon } from "./icons.js";

const VS_CODE = "vscode://file{path}:{line}";
const template = signal(String(read("editor") ?? ""));

/** @param {{file: string, lines: string[]}} props */
export function OpenFile({ file, lines }) {
    const line = template.value && changedLine(lines);
    const address = line && addressOf(template.value, file, line);
    return address && html`
        <a class="icon-button" href=${address} target=${/^https/i.test(address) ? "_blank" : undefined} rel="noreferrer"
            aria-label="Open in the editor" title="Open in the editor"><${Icon} name="file" /></a>`;
}

/** Asks for the editor.
 * @param {{close: () => void}} props
 */
export function EditorDialog({ close }) {
    const [typed, setTyped] = useState(template.value);
    const [isOther, setOther] = useState(typed !== "" && typed !== VS_CODE);
    const isGood = typed === "" || isTemplate(typed);
    /** @param {Event} event */
    const submit = (event) => {
        event.preventDefault();
        template.value = typed;
        keep("editor", typed || null);
        close();
    };
    /** @type {(words: string, value: string, isChosen: boolean, other?: boolean) => any} */
    const option = (words, value, isChosen, other = false) => html`
        <label class="option"><input type="radio" name="editor" checked=${isChosen} onChange=${() => { setTyped(value); setOther(other); }} />${words}</label>`;
    return html`
        <${Dialog} title="Open files in" close=${close}>
            <form onSubmit=${submit}>
                ${option("No editor", "", !isOther && typed === "")}
                ${option("VS Code on this machine", VS_CODE, !isOther && typed === VS_CODE)}
                ${option("An address with {path} and {line}", typed || VS_CODE, isOther, true)}
                ${isOther && html`<input class="field" aria-label="Address" dir="ltr" spellcheck=${false} value=${typed}
                    onInput=${(/** @type {any} */ event) => setTyped(event.target.value.trim())} />`}
                ${!isGood && html`<p class="problem" role="alert">It begins with https:// or an editor's scheme and a host, then has {path}.</p>`}
                <div class="dialog-foot">
                    <span class="quiet">Kept by this browser.</span>
                    <button type="button" class="button" onClick=${close}>Cancel</button>
                    <button class="button is-main" disabled=${!isGood}>Save</button>
                </div>
            </form>
        <//>
    `;
}
