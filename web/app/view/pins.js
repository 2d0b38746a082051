/**
 * What stays in the context whatever is trimmed: turns, and notes of the person's.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {ContextPin} from "../protocol.js"
 */
import { shortCount } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { html, useEffect, useState } from "../vendor.js";
import { Icon } from "./icons.js";

/** @param {{app: App, thread: Thread}} props */
export function Pins({ app, thread }) {
    const [pins, setPins] = useState(/** @type {ContextPin[]} */ ([]));
    const [note, setNote] = useState("");
    thread.version.value; // drawn again when the thread is at rest
    const isBusy = thread.isBusy;
    const version = thread.pinsVersion.value;
    useEffect(() => {
        app.session.read("orchestration/snapshot", { threadId: thread.id, turns: 0 }).then(
            (answer) => setPins(answer.thread.pins ?? []), () => {},
        );
    }, [thread, version]);
    if (!app.offers("pin")) {
        return null;
    }
    /** @param {Event} event */
    const submit = async (event) => {
        event.preventDefault();
        if (note.trim()) {
            await app.dispatch(thread.id, { type: "thread.context.pin", note: note.trim() });
            setNote("");
        }
    };
    return html`
        <section class="pins" aria-label="Pinned">
            <h3>Pinned: stays whatever is trimmed</h3>
            <ul>
                ${pins.map((pin) => html`
                    <li key=${pin.id} class="segment">
                        <${Icon} name="pin" />
                        <span class="segment-text" dir="auto" title=${visible(pin.note || pin.preview)}>${visible(pin.turn === null ? pin.note : `Turn ${pin.turn}: ${pin.note || pin.preview}`)}</span>
                        <span class="segment-facts">${shortCount(pin.estTokens)}</span>
                        <button class="button is-small" disabled=${isBusy} aria-label=${`Unpin ${pin.number}`}
                            onClick=${() => app.command(thread, `/unpin ${pin.number}`)}>Unpin</button>
                    </li>
                `)}
            </ul>
            <form class="pin-form" onSubmit=${submit}>
                <input class="field" dir="auto" value=${note} placeholder="A note for the agent to keep" aria-label="A note to pin"
                    onInput=${(/** @type {any} */ event) => setNote(event.target.value)} />
                <button class="button is-small" disabled=${isBusy || !note.trim()}>Pin</button>
            </form>
        </section>
    `;
}
