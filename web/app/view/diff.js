/**
 * A unified diff, line by line.
 */
import { pathFrom } from "../model/format.js";
import { html } from "../vendor.js";

const MOST_LINES = 2000;

/** @param {{path?: string, folder?: string, text: string}} props */
export function Diff({ path, folder, text }) {
    const lines = text.split("\n");
    return html`
        <div class="diff">
            ${path && html`<div class="diff-path" dir="ltr" title=${path}>${pathFrom(path, folder)}</div>`}
            <pre tabindex="0" dir="ltr" aria-label=${`Changes of ${path ?? "files"}`}>
                ${lines.slice(0, MOST_LINES).map((line, at) => html`<span key=${at} class=${`diff-line ${kindOf(line)}`}>${(line || " ") + "\n"}</span>`)}
            </pre>
            ${lines.length > MOST_LINES && html`<p class="quiet">${lines.length - MOST_LINES} more lines.</p>`}
        </div>
    `;
}

/** @param {string} line */
function kindOf(line) {
    return { "+": "is-added", "-": "is-removed", "@": "is-place" }[line[0]] ?? "";
}
