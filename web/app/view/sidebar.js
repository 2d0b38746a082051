/**
 * The threads, by the folder that they work in; archived ones below.
 *
 * @import {App} from "../store/app.js"
 * @import {ThreadOverview} from "../protocol.js"
 */
import { isInEditor } from "../link/editor.js";
import { age, clock, counted, folderName } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { byFolder, byPeriod, secondOf, titleOf, waits } from "../model/threads.js";
import { chooseTheme, theme, THEMES } from "../store/theme.js";
import { html, useState } from "../vendor.js";
import { goToPrompt } from "./cards.js";
import { OtherMachines } from "./fleet.js";
import { Icon } from "./icons.js";
import { LevelDot } from "./meter.js";
import { OtherSessions } from "./sessions.js";

// Shown until more are asked for: threads of a folder, and folders.
const MOST = 40;
const MOST_FOLDERS = 12;

/** @param {{app: App}} props */
export function Sidebar({ app }) {
    const [filter, setFilter] = useState("");
    const [most, setMost] = useState(MOST_FOLDERS);
    const threads = (app.threads.value ?? []).filter((thread) => matches(thread, filter));
    const archived = threads.filter((thread) => thread.archived);
    const groups = byFolder(threads.filter((thread) => !thread.archived));
    return html`
        <nav class="sidebar" aria-label="Threads">
            <button class="button skip" onClick=${goToPrompt}>Go to the prompt</button>
            <div class="sidebar-head">
                <span class="brand">trimpoint</span>
                ${!app.shell && html`
                    <a class="icon-button" href="/docs/" target="_blank" aria-label="Documents" title="Documents">?</a>`}
                ${!isInEditor() && html`<${ThemeButton} />`}
                ${app.notifier.isPossible && html`
                    <button class="icon-button" aria-pressed=${app.notifier.isOn.value} onClick=${() => app.notifier.toggle()}
                        aria-label="Notify me while I look elsewhere" title="Notify me while I look elsewhere"><${Icon} name="bell" /></button>`}
                <button class="icon-button" aria-label="New thread" title="New thread" onClick=${() => { app.dialog.value = "new"; }}>
                    <${Icon} name="plus" />
                </button>
            </div>
            <input class="field sidebar-filter" type="search" placeholder="Filter threads" aria-label="Filter threads" value=${filter}
                onInput=${(/** @type {any} */ event) => setFilter(event.target.value)} />
            <div class="sidebar-threads">
                ${groups.slice(0, most).map(([folder, members]) => html`
                    <section key=${folder}>
                        <h2 title=${folder}>${folderName(folder)}</h2>
                        <${Threads} app=${app} threads=${members} />
                    </section>
                `)}
                ${groups.length > most && html`<button class="button is-small" onClick=${() => setMost(most + 5 * MOST_FOLDERS)}>
                    ${counted(groups.length - most, "more folder")}</button>`}
                ${archived.length > 0 && html`
                    <${Archived} app=${app} threads=${archived} isOpen=${filter !== "" || archived.some((thread) => thread.id === app.open.value?.id)} />
                `}
                <${OtherMachines} app=${app} filter=${filter} />
                ${app.threads.value?.length === 0 && html`<p class="quiet sidebar-empty">No thread yet.</p>`}
                <${OtherSessions} app=${app} />
            </div>
        </nav>
    `;
}

/** Goes from one theme to the next. */
function ThemeButton() {
    const next = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length];
    const words = `Theme: ${theme.value}. Change to ${next}`;
    return html`<button class="icon-button" aria-label=${words} title=${words} onClick=${() => chooseTheme(next)}><${Icon} name="theme" /></button>`;
}

/** @param {{app: App, threads: ThreadOverview[], isOpen: boolean}} props */
function Archived({ app, threads, isOpen }) {
    const [isShown, setShown] = useState(isOpen);
    return html`
        <details class="archived" open=${isOpen} onToggle=${(/** @type {any} */ event) => setShown(event.target.open)}>
            <summary>Archived <span class="quiet">${threads.length}</span></summary>
            ${(isShown || isOpen) && html`<${Threads} app=${app} threads=${threads} />`}
        </details>
    `;
}

/** @param {{app: App, threads: ThreadOverview[]}} props */
function Threads({ app, threads }) {
    const openId = app.open.value?.id;
    const [most, setMost] = useState(MOST);
    const groups = byPeriod(threads.slice(0, most), Date.now());
    const isTwice = repeated(threads.map(titleOf));
    return html`<ul>
        ${groups.map(([period, members]) => html`${groups.length > 1 && html`<li key=${period} class="period">${period}</li>`}${members.map((thread) => html`
            <li key=${thread.id}>
                <a href=${`#/thread/${thread.id}`} aria-current=${thread.id === openId ? "page" : undefined}>
                    <span class="thread-title" dir="auto">${visible(titleOf(thread))}
                        ${isTwice.has(titleOf(thread)) && html`
                            <span class="thread-when">${clock(thread.createdAt, Date.now())}</span>`}
                        <span class="thread-second">${visible(secondOf(thread))}</span>
                    </span>
                    <span class="thread-facts">
                        ${waits(thread)
                            ? html`<span class="asks">asks</span>`
                            : thread.busy && html`<span class="spinner" role="img" aria-label="busy"></span>`}
                        <${LevelDot} level=${thread.context?.level} />
                        <time datetime=${thread.updatedAt}>${age(thread.updatedAt, Date.now())}</time>
                    </span>
                </a>
            </li>
        `)}`)}
        ${threads.length > most && html`<li><button class="button is-small" onClick=${() => setMost(most + 5 * MOST)}>
            ${counted(threads.length - most, "more thread")}</button></li>`}
    </ul>`;
}

/**
 * Returns those that come more than once.
 * @param {string[]} titles
 */
function repeated(titles) {
    const seen = new Set();
    return new Set(titles.filter((title) => seen.has(title) || !seen.add(title)));
}

/**
 * @param {ThreadOverview} thread
 * @param {string} filter
 */
function matches(thread, filter) {
    const wanted = filter.trim().toLowerCase();
    return wanted === "" || `${titleOf(thread)} ${thread.cwd}`.toLowerCase().includes(wanted);
}
