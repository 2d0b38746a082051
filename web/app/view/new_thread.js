/**
 * Begins a thread in a folder.
 *
 * @import {App} from "../store/app.js"
 */
import { html, useEffect, useState } from "../vendor.js";
import { Dialog } from "./dialogs.js";

const WAIT_MS = 150;

/** @param {{app: App, close: () => void}} props */
export function NewThread({ app, close }) {
    const known = [...new Set((app.threads.value ?? []).map((thread) => thread.cwd))];
    const [settings, setSettings] = useState({
        cwd: app.open.value?.state?.cwd ?? app.folder.value ?? known[0] ?? "", model: "", sandbox: "", approvalPolicy: "",
    });
    const [problem, setProblem] = useState("");
    const beside = useFolders(app, settings.cwd);
    /** @param {string} name */
    const field = (name) => (/** @type {any} */ event) => {
        setProblem("");
        setSettings((now) => ({ ...now, [name]: event.target.value }));
    };
    /** @param {Event} event */
    const submit = async (event) => {
        event.preventDefault();
        const cwd = settings.cwd.trim();
        const refused = await whyNot(app, cwd);
        setProblem(refused);
        if (!refused && (await app.startThread({ ...settings, cwd }))) {
            close();
        }
    };
    return html`
        <${Dialog} title="New thread" close=${close}>
            <form onSubmit=${submit}>
                <label class="row"><span>Folder</span>
                    <input class="field" dir="ltr" required value=${settings.cwd} list="folders" onInput=${field("cwd")} autofocus
                        placeholder="/home/me/project" autocomplete="off" spellcheck="false" aria-invalid=${problem !== ""} />
                </label>
                ${problem && html`<p class="problem" role="alert">${problem}</p>`}
                <datalist id="folders">${[...new Set([...beside, ...known])].map((folder) => html`<option key=${folder} value=${folder} />`)}</datalist>
                <label class="row"><span>Model</span>
                    <select class="field" value=${settings.model} onChange=${field("model")}>
                        <option value="">As configured</option>
                        ${app.models.value.map((one) => html`<option key=${one.model} value=${one.model}>${one.name}</option>`)}
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
                        <option value="untrusted">Ask unless known to be safe</option>
                        <option value="on-request">Ask when the agent wants more</option>
                        <option value="never">Never ask</option>
                    </select>
                </label>
                <div class="dialog-foot">
                    <button type="button" class="button" onClick=${close}>Cancel</button><button class="button is-main">Start</button>
                </div>
            </form>
        <//>
    `;
}

/**
 * Returns why no thread can work in a folder, empty if one can.
 * @param {App} app
 * @param {string} path
 */
async function whyNot(app, path) {
    if (!path.startsWith("/")) {
        return "Type the whole path of a folder, from / on.";
    }
    try {
        const { isDirectory } = await app.session.read("fs/getMetadata", { path });
        return isDirectory ? "" : `${path} is no folder.`;
    } catch {
        return `There is no folder ${path} on the machine where trimpoint runs.`;
    }
}

/**
 * Returns the folders that a path which is being typed may become.
 * @param {App} app
 * @param {string} typed
 */
function useFolders(app, typed) {
    const [folders, setFolders] = useState(/** @type {string[]} */ ([]));
    const parent = typed.startsWith("/") ? typed.slice(0, typed.lastIndexOf("/") + 1) : "";
    useEffect(() => {
        const ask = async () => {
            try {
                const { entries } = await app.session.read("fs/readDirectory", { path: parent });
                const names = entries.filter((/** @type {any} */ one) => one.isDirectory && !one.fileName.startsWith("."));
                setFolders(names.map((/** @type {any} */ one) => parent + one.fileName).toSorted());
            } catch {
                setFolders([]);
            }
        };
        const timer = parent ? setTimeout(ask, WAIT_MS) : 0;
        return () => clearTimeout(timer);
    }, [parent]);
    return folders;
}
