/**
 * A unified diff, line by line.
 */
import { pathFrom } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { html, useState } from "../vendor.js";

const MOST_LINES = 2000;

/** @param {{path?: string, folder?: string, text: string}} props */
export function Diff({ path, folder, text }) {
    const [isWhole, setWhole] = useState(false);
    const lines = visible(text).split("\n");
    const shown = isWhole ? lines : lines.slice(0, MOST_LINES);
    return html`
        <div class="diff">
            ${path && html`<div class="diff-path" dir="ltr" title=${path}>${visible(pathFrom(path, folder))}</div>`}
            <${DiffLines} lines=${shown} label=${`Changes of ${path ?? "files"}`} />
            ${shown.length < lines.length && html`<button class="button is-small" onClick=${() => setWhole(true)}>
                Show the other ${lines.length - shown.length} lines</button>`}
        </div>
    `;
}

/** Each line with its numbers before and after.
 * @param {{lines: string[], label?: string}} props
 */
export function DiffLines({ lines, label }) {
    let before = 1;
    let after = 1;
    return html`<pre tabindex="0" dir="ltr" aria-label=${label}>${lines.map((line, at) => {
        const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
        if (place) {
            [before, after] = [Number(place[1]), Number(place[2])];
            return html`<span key=${at} class="diff-line is-place">${line + "\n"}</span>`;
        }
        const sign = line[0];
        const number = sign === "-" ? before : after;
        before += sign === "+" ? 0 : 1;
        after += sign === "-" ? 0 : 1;
        const kind = sign === "+" ? "is-added" : sign === "-" ? "is-removed" : "";
        return html`<span key=${at} class=${`diff-line ${kind}`} data-number=${number}>${(line || " ") + "\n"}</span>`;
    })}</pre>`;
}
