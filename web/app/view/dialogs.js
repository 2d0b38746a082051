/**
 * Questions of the page's own: a new thread, a new name.
 *
 * @import {App} from "../store/app.js"
 */
import { html, useEffect, useRef, useState } from "../vendor.js";
import { Icon } from "./icons.js";

/** @param {{title: string, close: () => void, isWide?: boolean, children?: any}} props */
export function Dialog({ title, close, isWide, children }) {
    const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
    useEffect(() => dialog.current?.showModal(), []);
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
        default:
            return null;
    }
}

/** @param {{app: App, close: () => void}} props */
function NewThread({ app, close }) {
    const folders = [...new Set((app.threads.value ?? []).map((thread) => thread.cwd))];
    const [settings, setSettings] = useState({
        cwd: app.open.value?.state?.cwd ?? folders[0] ?? "", model: "", sandbox: "", approvalPolicy: "",
    });
    const [models, setModels] = useState(/** @type {{id: string, displayName: string}[]} */ ([]));
    useEffect(() => {
        app.session.request("model/list", {}).then((answer) => setModels(answer.data ?? []), () => {});
    }, []);
    /** @param {string} name */
    const field = (name) => (/** @type {any} */ event) => setSettings((now) => ({ ...now, [name]: event.target.value }));
    /** @param {Event} event */
    const submit = async (event) => {
        event.preventDefault();
        if (await app.startThread(settings)) {
            close();
        }
    };
    return html`
        <${Dialog} title="New thread" close=${close}>
            <form onSubmit=${submit}>
                <label class="row"><span>Folder</span>
                    <input class="field" dir="ltr" required value=${settings.cwd} list="folders" onInput=${field("cwd")} autofocus />
                </label>
                <datalist id="folders">${folders.map((folder) => html`<option key=${folder} value=${folder} />`)}</datalist>
                <label class="row"><span>Model</span>
                    <select class="field" value=${settings.model} onChange=${field("model")}>
                        <option value="">As configured</option>
                        ${models.map((model) => html`<option key=${model.id} value=${model.id}>${model.displayName ?? model.id}</option>`)}
                    </select>
                </label>
                <label class="row"><span>Sandbox</span>
                    <select class="field" value=${settings.sandbox} onChange=${field("sandbox")}>
                        <option value="">As configured</option>
                        <option value="read-only">Read only</option>
                        <option value="workspace-write">Write in the folder</option>
                        <option value="danger-full-access">No sandbox</option>
                    </select>
                </label>
                <label class="row"><span>Approvals</span>
                    <select class="field" value=${settings.approvalPolicy} onChange=${field("approvalPolicy")}>
                        <option value="">As configured</option>
                        <option value="untrusted">Ask for all but what is known to be safe</option>
                        <option value="on-request">When the agent asks</option>
                        <option value="never">Never</option>
                    </select>
                </label>
                <div class="dialog-foot">
                    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button is-main">Start</button>
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
