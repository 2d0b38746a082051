/**
 * The middle of the page: everything that was said, with the places where the context was trimmed.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {Row} from "../model/timeline.js"
 */
import { rowsOf } from "../model/timeline.js";
import { html, useEffect, useMemo } from "../vendor.js";
import { Boundary } from "./boundary.js";
import { List } from "./list.js";
import { ContextSummaryBanner, ContextTrimPointDivider } from "./trim.js";
import { TurnView } from "./turn.js";

/** @type {Record<Row["kind"], number>} */
const ESTIMATES_PX = { turn: 180, banner: 160, divider: 48, older: 48 };

/** @param {{app: App, thread: Thread}} props */
export function Timeline({ app, thread }) {
    const version = thread.version.value;
    const expanded = thread.expanded.value;
    const jump = app.jump.value;
    const rows = useMemo(() => (thread.state ? rowsOf(thread.state, expanded) : []), [thread, version, expanded]);
    if (thread.problem.value && !thread.state) {
        return html`<div class="empty" role="alert"><h2>This thread cannot be shown</h2><p>${thread.problem.value}</p></div>`;
    }
    if (!thread.state) {
        return html`<div class="empty" aria-busy="true"><span class="spinner"></span></div>`;
    }
    if (rows.length === 0) {
        return html`<div class="empty">
            <h2>Nothing said yet</h2>
            <p>Ask for something below. When the conversation grows long, <kbd>/clear</kbd> or <kbd>/compact</kbd> make room in the agent's
                context; all of it stays readable here, and <kbd>/undo</kbd> brings it back.</p>
        </div>`;
    }
    return html`<${List} key=${thread.id} rows=${rows} label="Conversation" estimate=${(/** @type {Row} */ row) => ESTIMATES_PX[row.kind]}
        renderRow=${(/** @type {Row} */ row) => html`<${Boundary} of=${row} what="This part of the thread">${rowView(app, thread, row)}<//>`} jumpTo=${jump?.key} jumpCount=${jump?.count} endCount=${app.sent.value} />`;
}

/**
 * @param {App} app
 * @param {Thread} thread
 * @param {Row} row
 */
export function rowView(app, thread, row) {
    switch (row.kind) {
        case "turn":
            return html`<${TurnView} app=${app} thread=${thread} row=${row} />`;
        case "banner":
            return html`<${ContextSummaryBanner} row=${row} />`;
        case "divider":
            return html`<${ContextTrimPointDivider} thread=${thread} row=${row} />`;
        case "older":
            return html`<${Older} thread=${thread} />`;
    }
}

/** Loads what is older as soon as it comes near the screen.
 * @param {{thread: Thread}} props
 */
function Older({ thread }) {
    const version = thread.version.value;
    useEffect(() => {
        thread.loadOlder();
    }, [version]);
    return html`<p class="older" aria-busy="true"><span class="spinner" aria-hidden="true"></span>Earlier turns …</p>`;
}
