/**
 * What the thread works with, below the prompt, and the way to change it.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 */
import { APPROVALS, offered, SANDBOXES } from "../model/settings.js";
import { html } from "../vendor.js";

/** @param {{app: App, thread: Thread}} props */
export function Settings({ app, thread }) {
    const now = thread.settings.value;
    if (!now) {
        return null;
    }
    const models = app.models.value;
    const model = models.find((one) => one.model === now.model);
    const effort = now.effort ?? model?.effort ?? "";
    const sandbox = String(now.sandbox.type ?? "");
    const approval = typeof now.approval === "string" ? now.approval : "granular";
    /** @param {object} change */
    const set = (change) => app.attempt(() => app.session.request("thread/settings/update", { threadId: thread.id, ...change }));
    /** @param {string} type */
    const toSandbox = (type) => set({ sandboxPolicy: type === sandbox ? now.sandbox : { type } });
    /** @param {string} name */
    const toModel = (name) => {
        const next = models.find((one) => one.model === name);
        set({ model: name, ...(next && effort && !next.efforts.includes(effort) ? { effort: next.effort } : {}) });
    };
    return html`
        <div class="settings" role="group" aria-label="Settings of the thread">
            <${Choice} label="Model" value=${now.model} choices=${offered(models.map((one) => [one.model, one.name]), now.model)} choose=${toModel} />
            <${Choice} label="Effort" value=${effort} choices=${offered((model?.efforts ?? []).map((one) => [one, one]), effort)}
                choose=${(/** @type {string} */ value) => set({ effort: value })} />
            <${Choice} label="Sandbox" value=${sandbox} choices=${offered(SANDBOXES, sandbox)} choose=${toSandbox} isOpen=${sandbox === "dangerFullAccess"} />
            <${Choice} label="Approvals" value=${approval} choices=${offered(APPROVALS, approval, "As configured")}
                choose=${(/** @type {string} */ value) => set({ approvalPolicy: value })} isOpen=${approval === "never"} />
        </div>
    `;
}

/** @param {{label: string, value: string, choices: [string, string][], choose: (value: string) => void, isOpen?: boolean}} props */
function Choice({ label, value, choices, choose, isOpen }) {
    return choices.length > 0 && html`
        <select class=${isOpen ? "is-open" : ""} aria-label=${label} title=${label} value=${value}
            onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
            ${choices.map(([one, words]) => html`<option key=${one} value=${one} selected=${one === value}>${words}</option>`)}
        </select>
    `;
}
