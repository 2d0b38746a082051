/**
 * The threads, by the folder that they work in; archived ones below.
 *
 * @import {App} from "../store/app.js"
 * @import {ThreadOverview} from "../protocol.js"
 */
import { age, folderName } from "../model/format.js";
import { html, useState } from "../vendor.js";
import { OtherMachines } from "./fleet.js";
import { Icon } from "./icons.js";
import { LevelDot } from "./meter.js";
import { OtherSessions } from "./sessions.js";

/** @param {{app: App}} props */
export function Sidebar({ app }) {
    const [filter, setFilter] = useState("");
    const threads = (app.threads.value ?? []).filter((thread) => matches(thread, filter));
    const archived = threads.filter((thread) => thread.archived);
    const groups = byFolder(threads.filter((thread) => !thread.archived));
    return html`
        <nav class="sidebar" aria-label="Threads">
            <div class="sidebar-head">
                <span class="brand">trimpoint</span>
                <button class="icon-button" aria-label="New thread" title="New thread" onClick=${() => { app.dialog.value = "new"; }}>
                    <${Icon} name="plus" />
                </button>
            </div>
            <input class="field sidebar-filter" type="search" placeholder="Filter threads" aria-label="Filter threads" value=${filter}
                onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} />
            <div class="sidebar-threads">
                ${groups.map(([folder, members]) => html`
                    <section key=${folder}>
                        <h2 title=${folder}>${folderName(folder)}</h2>
                        <${Threads} app=${app} threads=${members} />
                    </section>
                `)}
                ${archived.length > 0 && html`
                    <details class="archived" open=${filter !== "" || archived.some((thread) => thread.id === app.open.value?.id)}>
                        <summary>Archived <span class="quiet">${archived.length}</span></summary>
                        <${Threads} app=${app} threads=${archived} />
                    </details>
                `}
                <${OtherMachines} app=${app} filter=${filter} />
                ${app.threads.value?.length === 0 && html`<p class="quiet sidebar-empty">No thread yet.</p>`}
                <${OtherSessions} app=${app} />
            </div>
        </nav>
    `;
}

/** @param {{app: App, threads: ThreadOverview[]}} props */
function Threads({ app, threads }) {
    const openId = app.open.value?.id;
    return html`<ul>
        ${threads.map((thread) => html`
            <li key=${thread.id}>
                <a href=${`#/thread/${thread.id}`} aria-current=${thread.id === openId ? "page" : undefined}>
                    <span class="thread-title" dir="auto">${titleOf(thread)}</span>
                    <span class="thread-facts">
                        ${thread.busy && html`<span class="spinner" role="img" aria-label="busy"></span>`}
                        <${LevelDot} level=${thread.context?.level} />
                        <time datetime=${thread.updatedAt}>${age(thread.updatedAt, Date.now())}</time>
                    </span>
                </a>
            </li>
        `)}
    </ul>`;
}

/** @param {{name: string | null, preview?: string}} thread */
export function titleOf(thread) {
    return thread.name || thread.preview || "Untitled";
}

/**
 * @param {ThreadOverview} thread
 * @param {string} filter
 */
function matches(thread, filter) {
    const wanted = filter.trim().toLowerCase();
    return wanted === "" || `${titleOf(thread)} ${thread.cwd}`.toLowerCase().includes(wanted);
}

/**
 * @param {ThreadOverview[]} threads
 * @returns {[string, ThreadOverview[]][]}
 */
function byFolder(threads) {
    /** @type {Map<string, ThreadOverview[]>} */
    const groups = new Map();
    for (const thread of threads) {
        groups.set(thread.cwd, [...(groups.get(thread.cwd) ?? []), thread]);
    }
    return [...groups];
}
