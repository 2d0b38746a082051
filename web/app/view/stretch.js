/**
 * Takes turns out of the agent's context, after it has said what that would do.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {CommandOutcome} from "../protocol.js"
 */
import { wordsOf } from "../model/outcome.js";
import { isRefused } from "../store/prompts.js";
import { html, useEffect, useState } from "../vendor.js";
import { Dialog } from "./dialogs.js";

const COMMANDS = [["clear", "Clear"], ["compact", "Summarize"], ["mask", "Mask output"]];

/** @param {{app: App, thread: Thread, number: number, close: () => void}} props */
export function StretchDialog({ app, thread, number, close }) {
    const [command, setCommand] = useState("clear");
    const [newest] = useState(thread.state?.turns.length); // what comes meanwhile was not in the preview
    const [turns, setTurns] = useState(`${number}..${number}`);
    const [previews, setPreviews] = useState(/** @type {Record<string, CommandOutcome>} */ ({}));
    const text = `/${command} ${turns}`;
    const preview = previews[text] ?? null;
    useEffect(() => {
        const asked = { text, threadId: thread.id, dryRun: true };
        app.session.request("commands/execute", asked).then((outcome) => setPreviews((now) => ({ ...now, [text]: outcome })), close);
    }, [text]);
    const run = () => {
        close();
        app.command(thread, text);
    };
    /**
     * @param {string[][]} rows
     * @param {string} chosen
     * @param {(value: string) => void} choose
     */
    const choices = (rows, chosen, choose) => html`<fieldset>${rows.map(([value, words]) => html`
        <label class="option"><input type="radio" name=${rows[0][1]} checked=${chosen === value} autofocus=${value === rows[0][0] && rows !== COMMANDS} onChange=${() => choose(value)} />${words}</label>`)}</fieldset>`;
    return html`
        <${Dialog} title=${`Trim turn ${number}`} close=${close}>
            ${choices([[`${number}..${number}`, "This turn"], [`..${number}`, "Up to here"], [`${number}..${newest}`, "From here on"]], turns, setTurns)}
            ${choices(COMMANDS, command, setCommand)}
            <p role="status" aria-busy=${preview === null}>${preview && wordsOf(preview)}</p>
            <div class="dialog-foot">
                <button class="button" onClick=${close}>Cancel</button>
                <button class="button is-main" disabled=${preview === null || isRefused(preview)} onClick=${run}>Apply</button>
            </div>
        <//>
    `;
}
