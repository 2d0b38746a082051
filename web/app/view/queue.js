/**
 * Prompts that wait for their turn, kept by the daemon: each can be edited, moved and taken back.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {Queued} from "../model/shapes.js"
 */
import { visible } from "../model/hidden.js";
import { html } from "../vendor.js";
import { Icon } from "./icons.js";

/** @type {Map<string, string>} */
const HOLDS = new Map([
    ["interrupted", "The queue waits because the turn was interrupted."],
    ["failed", "The queue waits because the turn failed."],
    ["refused", "The queue waits because its first prompt was refused."],
]);

/** @param {{app: App, thread: Thread}} props */
export function Queue({ app, thread }) {
    const queue = thread.state?.queue ?? [];
    const hold = thread.state?.queueHold ?? null;
    if (queue.length === 0) {
        return null;
    }
    /** @param {string} type @param {object} members */
    const dispatch = (type, members) => app.dispatch(thread.id, { type: `thread.queue.${type}`, ...members });
    /** @param {Queued} one */
    const edit = async (one) => {
        if (await dispatch("delete", { promptId: one.id })) {
            app.prompts.prepend(thread.id, { text: textOf(one), images: imagesOf(one) });
        }
    };
    /** @param {number} at */
    const moveUp = (at) => {
        const ids = queue.map((one) => one.id);
        [ids[at - 1], ids[at]] = [ids[at], ids[at - 1]];
        dispatch("reorder", { promptIds: ids });
    };
    return html`
        <div class="queue">
            ${hold && html`<p class="queue-hold" role="status"><span>${HOLDS.get(hold.reason) ?? "The queue waits."} ${hold.message}</span>
                <button type="button" class="button is-small" onClick=${() => dispatch("start", {})}>Send it</button></p>`}
            <ul aria-label="Waiting prompts">
                ${queue.map((one, at) => html`
                    <li key=${one.id}><span class="tag">next</span>
                        <span class="queue-text" dir="auto" title=${visible(textOf(one))}>${visible(textOf(one)) || "an image"}</span>
                        ${at > 0 && html`<button type="button" class="icon-button" aria-label="Move up" title="Move up" onClick=${() => moveUp(at)}>
                            <span class="is-up"><${Icon} name="chevron" /></span></button>`}
                        <button type="button" class="icon-button" aria-label="Edit" title="Edit" onClick=${() => edit(one)}><${Icon} name="edit" /></button>
                        <button type="button" class="icon-button" aria-label="Do not send" title="Do not send"
                            onClick=${() => dispatch("delete", { promptId: one.id })}><${Icon} name="close" /></button>
                    </li>
                `)}
            </ul>
        </div>
    `;
}

/** @param {Queued} one */
function textOf(one) {
    return one.input.filter((part) => part.type === "text").map((part) => part.text).join("\n");
}

/** @param {Queued} one */
function imagesOf(one) {
    return one.input.filter((part) => part.type === "image").map((part) => part.url);
}
