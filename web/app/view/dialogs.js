/**
 * Questions of the page's own: a new thread, a new name.
 *
 * @import {App} from "../store/app.js"
 */
import { counted } from "../model/format.js";
import { activeFrom } from "../model/state.js";
import { html, useLayoutEffect, useRef, useState } from "../vendor.js";
import { Icon } from "./icons.js";
import { NewThread } from "./new_thread.js";
import { EditorDialog } from "./open_file.js";
import { Palette } from "./palette.js";
import { StatsDialog } from "./stats.js";

/** @param {{title: string, close: () => void, isWide?: boolean, children?: any}} props */
export function Dialog({ title, close, isWide, children }) {
    const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
    useLayoutEffect(() => {
        const before = /** @type {HTMLElement | null} */ (document.activeElement);
        const shown = dialog.current;
        shown?.showModal();
        return () => {
            shown?.remove(); // as long as it stands there, nothing behind it takes the focus
            (before?.isConnected && before !== document.body ? before : /** @type {HTMLElement | null} */ (document.querySelector(".composer textarea")))?.focus();
        };
    }, []);
    return html`
        <dialog ref=${dialog} class=${`dialog ${isWide ? "is-wide" : ""}`} aria-label=${title} onClose=${close}
            onClick=${(/** @type {Event} */ event) => event.target === dialog.current && close()}>
            <div class="dialog-inner">
                <header class="dialog-head"><h2>${title}</h2>
                    <button class="icon-button" aria-label="Close" onClick=${close}><${Icon} name="close" /></button>
                </header>
                ${children}
            </div>
        </dialog>
    `;
}

/** @param {{app: App}} props */
export function Dialogs({ app }) {
    const close = () => {
        app.dialog.value = null;
    };
    switch (app.dialog.value) {
        case "new":
            return html`<${NewThread} app=${app} close=${close} />`;
        case "rename":
            return html`<${Rename} app=${app} close=${close} />`;
        case "palette":
            return html`<${Palette} app=${app} close=${close} />`;
        case "editor":
            return html`<${EditorDialog} close=${close} />`;
        case "stats":
            return html`<${StatsDialog} app=${app} close=${close} />`;
        case "delete":
            return html`<${Delete} app=${app} close=${close} />`;
        case "clear":
            return html`<${Clear} app=${app} close=${close} />`;
        default:
            return null;
    }
}

/** Asks how much is to stay.
 * @param {{app: App, close: () => void}} props
 */
function Clear({ app, close }) {
    const thread = app.open.value;
    const state = thread?.state;
    const count = state ? state.turns.length - activeFrom(state) : 0;
    const [kept, setKept] = useState(count);
    /** @param {Event} event */
    const submit = (event) => {
        event.preventDefault();
        close();
        if (thread && kept < count) {
            app.prompts.change(thread.id, (draft) => ({ ...draft, text: `/clear ${kept}` }));
            app.submit(thread, "command");
        }
    };
    const parts = [...new Set([1, 3, Math.ceil(count / 2)])].filter((one) => one < count).toSorted((one, other) => one - other);
    return html`
        <${Dialog} title="Clear the context" close=${close}>
            <form onSubmit=${submit}>
                <p class="quiet">What leaves the agent's context can still be read here, and an undo brings it back.</p>
                ${[...new Set([count, ...parts, 0])].map((one) => html`
                    <label class="option" key=${one}>
                        <input type="radio" name="kept" value=${one} checked=${kept === one} autofocus=${one === count} onChange=${() => setKept(one)} />
                        <span>${one === count ? "Keep everything" : one === 0 ? "Keep nothing" : one === 1 ? "Keep the last turn" : `Keep the last ${one} turns`}</span>
                    </label>
                `)}
                <div class="dialog-foot">
                    <span class="quiet">${counted(count, "turn")} in the context</span>
                    <button type="button" class="button" onClick=${close}>Cancel</button>
                    <button class="button is-main">Clear</button>
                </div>
            </form>
        <//>
    `;
}

/** @param {{app: App, close: () => void}} props */
function Rename({ app, close }) {
    const thread = app.open.value;
    const [name, setName] = useState(thread?.state?.name ?? "");
    /** @param {Event} event */
    const submit = async (event) => {
        event.preventDefault();
        close();
        if (thread && name.trim()) {
            await app.dispatch(thread.id, { type: "thread.rename", name: name.trim() });
        }
    };
    return html`
        <${Dialog} title="Rename the thread" close=${close}>
            <form onSubmit=${submit}>
                <label class="row"><span>Name</span>
                    <input class="field" dir="auto" maxlength="500" value=${name} autofocus
                        onInput=${(/** @type {any} */ event) => setName(event.target.value)} />
                </label>
                <div class="dialog-foot">
                    <button type="button" class="button" onClick=${close}>Cancel</button>
                    <button class="button is-main" disabled=${!name.trim()}>Rename</button>
                </div>
            </form>
        <//>
    `;
}

/** @param {{app: App, close: () => void}} props */
function Delete({ app, close }) {
    const thread = app.open.value;
    const remove = () => {
        close();
        if (thread) {
            app.attempt(() => app.session.request("thread/delete", { threadId: thread.id })).then(() => app.refreshSoon());
        }
    };
    return html`
        <${Dialog} title="Delete the thread from Codex?" close=${close}>
            <p>Codex can never go on with it. trimpoint keeps what was said, and the files of its turns, as an archived thread.</p>
            <div class="dialog-foot">
                <button class="button" autofocus onClick=${close}>Cancel</button>
                <button class="button is-main" onClick=${remove}>Delete</button>
            </div>
        <//>
    `;
}
