/**
 * The line above the conversation: which thread, how full, what can be done with it.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 */
import { visible } from "../model/hidden.js";
import { html, useEffect, useRef, useState } from "../vendor.js";
import { Icon } from "./icons.js";
import { Meter } from "./meter.js";
import { savePicture } from "./picture.js";
import { titleOf } from "../model/threads.js";

/** @type {[panel: "context" | "checkpoints" | "search", icon: string, words: string, key: string][]} */
const PANELS = [["search", "search", "Search", "Ctrl+F"], ["checkpoints", "history", "Files", "Alt+2"], ["context", "layers", "Context", "Alt+3"]];
export const TITLES = { context: "What the context holds", checkpoints: "Turns and their files", search: "Search" };

/** @param {{app: App, thread: Thread}} props */
export function Header({ app, thread }) {
    thread.version.value; // name and counts are in the state
    const state = thread.state;
    const context = thread.context.value;
    const overview = app.threads.value?.find((one) => one.id === thread.id);
    const title = visible(titleOf({ name: state?.name ?? overview?.name ?? null, preview: overview?.preview }));
    const compactions = state?.compactionCount ?? 0;
    return html`
        <header class="header">
            <button class="icon-button only-narrow" aria-label="Threads" title="Threads" aria-expanded=${app.isListOpen.value}
                onClick=${() => { app.isListOpen.value = !app.isListOpen.value; }}><${Icon} name="menu" /></button>
            <div class="header-title">
                <h1 dir="auto" title=${title}>${title}</h1>
                <${Links} app=${app} words="From" ids=${[state?.parentId]} />
                <${Links} app=${app} words="Handed off to" ids=${state?.handoffIds ?? []} />
                <p dir="ltr" title=${state?.cwd}>${visible([state?.cwd, state?.branchName].filter(Boolean).join(" · "))}</p>
            </div>
            ${compactions > 0 && html`<span class="chip">compacted ×${compactions}</span>`}
            ${state?.archived && html`<span class="chip">archived</span>`}
            ${context && (context.usedTokens > 0 || !context.unknown) && html`<${Meter} context=${context} />`}
            <div class="header-actions">
                ${PANELS.map(([panel, icon, words, key]) => html`
                    <button key=${panel} class="icon-button" aria-pressed=${app.panel.value === panel} aria-label=${words} title=${`${TITLES[panel]} (${key})`}
                        onClick=${() => app.togglePanel(panel)}><${Icon} name=${icon} /></button>
                `)}
                <${More} app=${app} thread=${thread} />
            </div>
        </header>
    `;
}

/** The threads that this one was begun from, or handed off to.
 * @param {{app: App, words: string, ids: (string | null | undefined)[]}} props
 */
function Links({ app, words, ids }) {
    const found = (app.threads.value ?? []).filter((one) => ids.includes(one.id));
    return found.length > 0 && html`<div class="header-links">${words} ${found.map((one, at) => html`${at > 0 && ", "}<a href=${`#/thread/${one.id}`} dir="auto">${visible(titleOf(one))}</a>`)}</div>`;
}

/** @param {{app: App, thread: Thread}} props */
function More({ app, thread }) {
    const [isOpen, setOpen] = useState(false);
    const menu = useRef(/** @type {HTMLElement | null} */ (null));
    useEffect(() => {
        if (!isOpen) {
            return () => {};
        }
        menu.current?.querySelector("button")?.focus();
        /** @param {Event} event */
        const close = (event) => {
            if (!menu.current?.parentElement?.contains(/** @type {Node} */ (event.target))) {
                setOpen(false);
            }
        };
        addEventListener("pointerdown", close);
        return () => removeEventListener("pointerdown", close);
    }, [isOpen]);
    const archived = thread.state?.archived;
    /** @type {[icon: string, words: string, act: () => void][]} */
    const items = [
        ["search", "Go to or do …", () => { app.dialog.value = "palette"; }],
        ["edit", "Rename …", () => { app.dialog.value = "rename"; }],
        ["fork", "Fork", () => { app.fork(thread); }],
        ["plus", "New with the same files", () => { app.command(thread, "/new"); }],
        ...(app.offers("undo") && !archived
            ? /** @type {[string, string, () => void][]} */ ([["undo", "Undo the last trim", () => { app.command(thread, "/undo"); }]])
            : []),
        ...(app.shell ? [] : /** @type {[string, string, () => void][]} */ ([
            ["image", "Save as a picture", () => { savePicture(app, thread); }],
            ["file", "Open files in …", () => { app.dialog.value = "editor"; }],
        ])),
        ["layers", "What all threads took", () => { app.dialog.value = "stats"; }],
        ["archive", archived ? "Unarchive" : "Archive", () => { app.dispatch(thread.id, { type: archived ? "thread.unarchive" : "thread.archive" }); }],
        ["close", "Delete …", () => { app.dialog.value = "delete"; }],
    ];
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        const buttons = [...(menu.current?.querySelectorAll("button") ?? [])];
        const at = buttons.indexOf(/** @type {any} */ (document.activeElement));
        if (event.key === "Escape" && isOpen) {
            event.preventDefault();
            setOpen(false);
            /** @type {HTMLElement | null | undefined} */ (menu.current?.parentElement?.querySelector("[aria-haspopup]"))?.focus();
        } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            buttons[(at + (event.key === "ArrowDown" ? 1 : buttons.length - 1)) % buttons.length].focus();
        }
    };
    return html`
        <div class="more" onKeyDown=${onKey}>
            <button class="icon-button" aria-label="More" title="More" aria-haspopup="menu" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
                <${Icon} name="more" />
            </button>
            ${isOpen && html`<div class="menu" role="menu" ref=${menu}>
                ${items.map(([icon, words, act]) => html`
                    <button key=${words} role="menuitem" onClick=${() => { setOpen(false); act(); }}><${Icon} name=${icon} />${words}</button>
                `)}
            </div>`}
        </div>
    `;
}

/** What to do about a context that fills up, in one click.
 * @param {{app: App, thread: Thread}} props
 */
export function Advice({ app, thread }) {
    thread.version.value;
    const context = thread.context.value;
    if (!context || context.level === "ok" || context.level === null || thread.isBusy || thread.state?.archived) {
        return null;
    }
    const words = context.auto?.message || `The context is ${Math.round(context.percent ?? 0)}% full.`;
    return html`
        <div class=${`advice is-${context.level}`} role="status">
            <${Icon} name="warn" /><span>${words}</span>
            <button class="button" onClick=${() => app.command(thread, "/compact")}>Compact</button>
            <button class="button" onClick=${() => app.command(thread, "/clear 3")}>Keep the last 3 turns</button>
        </div>
    `;
}
