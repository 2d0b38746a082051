/**
 * Finds words in the whole thread: the browser's own search sees only what is on the screen.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {Entry} from "../model/shapes.js"
 */
import { counted } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { html, useEffect, useLayoutEffect, useMemo, useRef } from "../vendor.js";
import { HistoryHits } from "./history.js";

const MOST_SHOWN = 200;
const AROUND = 60;

/** @param {{app: App, thread: Thread}} props */
export function Search({ app, thread }) {
    const text = app.wantedSearch.value;
    const field = useRef(/** @type {HTMLInputElement | null} */ (null));
    useLayoutEffect(() => { // before the next key: what is typed right behind Ctrl+F belongs into the field
        field.current?.focus();
        field.current?.select();
    }, []);
    const hits = html`<${LoadedHits} app=${app} thread=${thread} text=${text} />`;
    return html`
        <div class="search" onKeyDown=${onKey}>
            <input class="field" type="search" ref=${field} value=${text} placeholder="Words of prompts, answers, commands …" aria-label="Words to search for"
                onInput=${(/** @type {any} */ event) => { app.wantedSearch.value = event.target.value; }} />
            ${app.offers("search") ? html`<${HistoryHits} app=${app} thread=${thread} text=${text} otherwise=${hits} />` : hits}
        </div>
    `;
}

/** Goes from the field through the hits and back by the arrows; Enter in the field opens the first hit.
 * @param {KeyboardEvent} event
 */
function onKey(event) {
    const hits = /** @type {HTMLElement[]} */ ([.../** @type {Element} */ (event.currentTarget).querySelectorAll(".hits button")]);
    const field = /** @type {HTMLElement} */ (/** @type {Element} */ (event.currentTarget).querySelector("input[type=search]"));
    const stops = [field, ...hits];
    const at = stops.indexOf(/** @type {HTMLElement} */ (event.target));
    if (at < 0) {
        return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        stops[Math.max(0, Math.min(stops.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)))].focus();
    } else if (event.key === "Enter" && at === 0) {
        event.preventDefault();
        hits[0]?.click();
    }
}

/** What has the text in the thread, as far as the page knows it: for a daemon that cannot search.
 * @param {{app: App, thread: Thread, text: string}} props
 */
function LoadedHits({ app, thread, text }) {
    const version = thread.version.value;
    const isWhole = thread.state?.isComplete ?? true;
    const wanted = text.trim().toLowerCase();
    useEffect(() => {
        if (wanted && !isWhole) {
            thread.loadOlder(); // and again with the version that this makes, until all is there
        }
    }, [wanted, version]);
    const hits = useMemo(() => (wanted ? hitsOf(thread, wanted) : []), [thread, wanted, version]);
    return html`
        <p class="quiet" role="status">${wanted && `${counted(hits.length, "hit")}${isWhole ? "" : " so far"}`}</p>
        <ul class="hits">
            ${hits.slice(0, MOST_SHOWN).map(({ entry, number, at }) => html`
                <li key=${`${entry.turnId} ${entry.id}`}>
                    <button onClick=${() => app.reveal(thread.id, entry.turnId, entry.id)}>
                        <span class="hit-place">Turn ${number} · ${entry.role === "user" ? "you" : entry.role === "assistant" ? "agent" : entry.role}</span>
                        <span class="hit-text" dir="auto">${around(entry.text, at, wanted.length)}</span>
                    </button>
                </li>
            `)}
        </ul>
    `;
}

/**
 * @param {Thread} thread
 * @param {string} wanted
 */
function hitsOf(thread, wanted) {
    /** @type {{entry: Entry, number: number, at: number}[]} */
    const hits = [];
    (thread.state?.turns ?? []).forEach((turn, index) => {
        for (const entry of thread.state?.entries.get(turn.id) ?? []) {
            const at = entry.text.toLowerCase().indexOf(wanted);
            if (at >= 0) {
                hits.push({ entry, number: index + 1, at });
            }
        }
    });
    return hits.reverse();
}

/**
 * @param {string} text
 * @param {number} at
 * @param {number} length
 */
function around(text, at, length) {
    const from = Math.max(0, at - AROUND);
    const [before, found, after] = [text.slice(from, at), text.slice(at, at + length), text.slice(at + length, at + length + AROUND)].map(visible);
    return html`${from > 0 ? "…" : ""}${before}<mark>${found}</mark>${after}`;
}
