/**
 * The page: threads at the left, the conversation in the middle, one panel at the right.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {ThreadOverview} from "../protocol.js"
 */
import { SETTLED_MS } from "../model/approval.js";
import { counted } from "../model/format.js";
import { titleOf, waits } from "../model/threads.js";
import { html, useEffect, useRef, useState } from "../vendor.js";
import { Boundary } from "./boundary.js";
import { goToPrompt, goToQuestion, Questions } from "./cards.js";
import { Checkpoints } from "./checkpoints.js";
import { Composer } from "./composer.js";
import { ContextPanel } from "./context.js";
import { Dialogs } from "./dialogs.js";
import { ShownMachineThread } from "./fleet.js";
import { Advice, Header, TITLES } from "./header.js";
import { Icon } from "./icons.js";
import { Pins } from "./pins.js";
import { Search } from "./search.js";
import { ShownSession } from "./sessions.js";
import { Sidebar } from "./sidebar.js";
import { Timeline } from "./timeline.js";

/** @type {Map<string, string>} */
const PANEL_KEYS = new Map([["Digit1", "search"], ["Digit2", "checkpoints"], ["Digit3", "context"]]);
const ENDINGS = new Map([["completed", "The agent is done."], ["failed", "The turn failed."], ["interrupted", "The agent has stopped."]]);
const FEW_LINES = 3;

/** @param {{app: App}} props */
export function Page({ app }) {
    const thread = app.open.value;
    const panel = app.panel.value;
    useKeys(app);
    useKeptFocus();
    const settings = thread?.settings.value ?? null;
    const aside = useRef(/** @type {HTMLElement | null} */ (null));
    useEffect(() => {
        if (!aside.current?.contains(document.activeElement)) { // a field of it may have the keys already
            aside.current?.focus();
        }
    }, [panel]);
    useEffect(() => app.shell?.showThread?.(thread?.id ?? null, settings), [thread, settings]);
    return html`
        <div class=${`page ${panel && thread ? "has-panel" : ""} ${app.isListOpen.value ? "has-list" : ""}`}>
            <${Sidebar} app=${app} />
            <main class="main">
                <${Connection} app=${app} />
                ${thread ? html`<${Conversation} key=${thread.id} app=${app} thread=${thread} />` : html`<${NoThread} app=${app} />`}
            </main>
            ${panel && thread && html`
                <aside class="panel" tabindex="-1" ref=${aside} aria-label=${TITLES[panel]}>
                    <header class="panel-head"><h2>${TITLES[panel]}</h2>
                        <button class="icon-button" aria-label="Close" title="Close (Esc)" onClick=${() => { app.panel.value = null; }}><${Icon} name="close" /></button>
                    </header>
                    <div class="panel-body" key=${thread.id}><${Boundary} of=${panel} what="This panel">
                        ${panel === "context" && html`<${Pins} app=${app} thread=${thread} /><${ContextPanel} app=${app} thread=${thread} />`}
                        ${panel === "checkpoints" && html`<${Checkpoints} app=${app} thread=${thread} />`}
                        ${panel === "search" && html`<${Search} app=${app} thread=${thread} />`}
                    <//></div>
                </aside>
            `}
            <${Dialogs} app=${app} />
            <${ShownSession} app=${app} />
            <${ShownMachineThread} app=${app} />
        </div>
    `;
}

/** @param {{app: App, thread: Thread}} props */
function Conversation({ app, thread }) {
    thread.version.value;
    const overview = app.threads.value?.find((one) => one.id === thread.id);
    const title = titleOf({ name: thread.state?.name ?? overview?.name ?? null, preview: overview?.preview });
    const said = useEnding(thread);
    useEffect(() => {
        const waiting = (app.threads.value ?? []).filter(waits).length;
        document.title = `${waiting ? `(${waiting}) ` : thread.isBusy ? "● " : ""}${title} – trimpoint`;
    });
    return html`
        <${Header} app=${app} thread=${thread} />
        <p class="unseen" role="status">${said}</p>
        <div class="conversation"><${Timeline} app=${app} thread=${thread} /></div>
        <div class="bottom">
            <${Boundary} of=${thread.questions.value} what="The question of the agent"><${Questions} app=${app} thread=${thread} /><//>
            <${OthersAsk} app=${app} thread=${thread} />
            <${Progress} app=${app} />
            <${NoticeView} app=${app} thread=${thread} />
            <${Advice} app=${app} thread=${thread} />
            ${thread.state?.newThreadId && html`
                <p class="notice"><${Icon} name="archive" /><span class="notice-text">This thread is archived. It went on as a new one, with the same files.</span>
                    <a class="button is-small" href=${`#/thread/${thread.state.newThreadId}`}>Go on there</a></p>
            `}
            ${thread.state?.readOnly && html`<p class="notice is-problem" role="alert">${thread.state.readOnly}</p>`}
            <${Composer} app=${app} thread=${thread} />
        </div>
    `;
}

/** Says to those who listen how a turn ended.
 * @param {Thread} thread
 */
function useEnding(thread) {
    const turn = thread.state?.turns.at(-1);
    const [running, setRunning] = useState("");
    useEffect(() => {
        if (turn?.status === "running") {
            setRunning(turn.id);
        }
    }, [turn]);
    return turn && turn.id === running && turn.status !== "running" ? (ENDINGS.get(turn.status) ?? "") : "";
}

/** @param {{app: App}} props */
function NoThread({ app }) {
    useEffect(() => {
        document.title = "trimpoint";
    }, []);
    if (app.threads.value === null) {
        return html`<div class="empty" aria-busy="true"><span class="spinner"></span></div>`;
    }
    return html`
        <div class="empty">
            <h1>No thread is open</h1>
            <p>A thread is a conversation with Codex in one folder. trimpoint keeps all of it readable and lets you decide what of it the
                agent still has in its context.</p>
            <ul class="empty-list">
                <li><strong>Start one</strong> ${app.folder.value ? html`in <code>${app.folder.value}</code>` : "in a folder of yours"}, and ask for something.</li>
                <li><strong>Make room</strong> when the context fills up: <kbd>/clear</kbd> or <kbd>/compact</kbd>, and <kbd>/undo</kbd>.</li>
                <li><strong>Go back</strong>: the files after each turn are kept, and a revert shows first what it would do.</li>
            </ul>
            <div class="empty-actions">
                <button class="button only-narrow" onClick=${() => { app.isListOpen.value = true; }}>All threads</button>
                <button class="button is-main" onClick=${() => { app.dialog.value = "new"; }}>New thread</button>
            </div>
        </div>
    `;
}

/** @param {{app: App}} props */
function Connection({ app }) {
    const refusal = app.session.refusal.value;
    if (refusal) {
        return html`<p class="connection" role="alert"><${Icon} name="warn" /> ${refusal.message} ${refusal.hint}</p>`;
    }
    if (app.session.isLoggedOut.value) {
        return html`<p class="connection" role="alert"><${Icon} name="warn" />
            <span>This browser is no longer logged in. Type <code>trimpoint open</code> in a terminal on the machine where trimpoint runs.</span></p>`;
    }
    return app.session.state.value === "lost" && html`
        <p class="connection" role="status"><span class="spinner" aria-hidden="true"></span>
            The daemon cannot be reached. Nothing is lost; the page reconnects automatically.</p>
    `;
}

/** Threads elsewhere that wait for an answer.
 * @param {{app: App, thread: Thread}} props
 */
function OthersAsk({ app, thread }) {
    const [first, ...others] = (app.threads.value ?? []).filter((one) => waits(one) && one.id !== thread.id);
    return first !== undefined && html`
        <p class="notice" role="status"><${Icon} name="question" />
            <span class="notice-text">${titleOf(first)} ${others.length ? `and ${counted(others.length, "other thread")} wait` : "waits"} for your answer.</span>
            <a class="button is-small" href=${`#/thread/${first.id}`}>Go there</a></p>
    `;
}

/** @param {{app: App}} props */
function Progress({ app }) {
    return app.progress.value !== "" && html`
        <p class="progress" role="status"><span class="spinner" aria-hidden="true"></span>${app.progress.value}</p>
    `;
}

/** @param {{app: App, thread: Thread}} props */
function NoticeView({ app, thread }) {
    const notice = app.notice.value;
    if (!notice) {
        return null;
    }
    const { undo, force } = notice;
    const text = withTitles(notice.text, app.threads.value ?? []);
    const isLayout = text.split("\n").length > FEW_LINES; // bars and columns, as a terminal has them
    return html`
        <div class=${`notice is-${notice.kind}`} role=${notice.kind === "problem" ? "alert" : "status"}>
            <${Icon} name=${notice.kind === "problem" ? "warn" : "check"} />
            ${isLayout ? html`<pre class="notice-pre" tabindex="0" dir="ltr">${text}</pre>` : html`<p dir="auto">${text}${notice.hint && html` <span class="quiet">${notice.hint}</span>`}</p>`}
            ${force && html`<button class="button is-small" onClick=${() => app.command(thread, force)}>Do it all the same</button>`}
            ${undo && html`<button class="button is-small" onClick=${() => app.command(thread, undo)}>${undo.includes("--redo") ? "Redo" : "Undo"}</button>`}
            <button class="icon-button" aria-label="Dismiss" title="Dismiss" onClick=${() => { app.notice.value = null; }}><${Icon} name="close" /></button>
        </div>
    `;
}

/**
 * Names threads by their titles: nobody knows an id.
 * @param {string} text
 * @param {ThreadOverview[]} threads
 */
function withTitles(text, threads) {
    return text.replace(/\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b/g, (id) => {
        const thread = threads.find((one) => one.id === id);
        return thread ? `“${titleOf(thread)}”` : id;
    });
}

/**
 * Goes to the prompt when what the keyboard has chosen goes away, as a notice does, or cannot be chosen any more. A key that was meant
 * for it neither sends nor stops there.
 */
function useKeptFocus() {
    useEffect(() => {
        /** @type {HTMLButtonElement | null} */
        let last = null;
        let settledAt = 0;
        /** @param {FocusEvent} event */
        const note = (event) => {
            const target = /** @type {HTMLButtonElement} */ (event.target);
            last = target.matches(":is(.main, .panel) :focus-visible") ? target : null;
        };
        const observer = new MutationObserver(() => {
            if (last && (!last.isConnected || last.disabled) && [document.body, last].includes(/** @type {any} */ (document.activeElement))) {
                goToPrompt();
                settledAt = performance.now() + SETTLED_MS;
            }
        });
        /** @param {KeyboardEvent} event */
        const guard = (event) => {
            if (["Enter", "Escape"].includes(event.key) && event.timeStamp < settledAt) {
                event.preventDefault();
                event.stopPropagation();
            } else {
                settledAt = 0;
            }
        };
        observer.observe(document.body, { childList: true, subtree: true, attributeFilter: ["disabled"] });
        addEventListener("focusin", note);
        addEventListener("keydown", guard, true);
        return () => {
            observer.disconnect();
            removeEventListener("keydown", guard, true);
            removeEventListener("focusin", note);
        };
    }, []);
}

/** Keys that work wherever the focus is.
 * @param {App} app
 */
function useKeys(app) {
    useEffect(() => {
        /** @param {KeyboardEvent} event */
        const onKey = (event) => {
            const isCommand = event.ctrlKey || event.metaKey;
            const thread = app.open.value;
            if (app.shell?.hasKeys && (isCommand || (event.altKey && /^(?:Digit|KeyN)/.test(event.code)))) {
                return;
            }
            if (isCommand && event.key === "f" && thread) {
                event.preventDefault();
                app.panel.value = "search";
                // It may be open already, with the keys elsewhere.
                const field = /** @type {HTMLInputElement | null} */ (document.querySelector(".search input[type=search]"));
                field?.focus();
                field?.select();
            } else if (event.altKey && event.key === "ArrowUp" && thread?.questions.value.length) {
                event.preventDefault();
                goToQuestion();
            } else if (isCommand && event.key === "o" && thread?.state) {
                event.preventDefault();
                const newest = thread.state.points.findLast((point) => point.kind === "boundary");
                if (newest) {
                    thread.toggle(newest.id);
                }
            } else if (event.altKey && !isCommand && PANEL_KEYS.has(event.code) && thread) {
                event.preventDefault();
                app.togglePanel(/** @type {any} */ (PANEL_KEYS.get(event.code)));
            } else if (isCommand && !event.shiftKey && event.key === "k") {
                event.preventDefault();
                app.dialog.value = "palette";
            } else if (event.altKey && (event.key === "Home" || event.key === "End") && thread) {
                event.preventDefault();
                if (event.key === "Home") {
                    app.jumps.toTurn(1, false);
                } else {
                    app.jumps.toEnd();
                }
            } else if (event.altKey && !isCommand && event.code === "KeyN") {
                event.preventDefault();
                app.dialog.value = "new";
            } else if (event.altKey && !isCommand && (event.key === "PageDown" || event.key === "PageUp")) {
                event.preventDefault();
                app.selectBeside(event.key === "PageDown" ? 1 : -1);
            } else if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) {
                const isAway = document.activeElement?.closest(".panel, .turn");
                app.panel.value = null;
                app.isListOpen.value = false;
                if (isAway) {
                    goToPrompt();
                }
            } else if (/^\S$/.test(event.key) && !isCommand && !event.altKey && /** @type {Element} */ (event.target).matches("body, .turn, .panel")) {
                goToPrompt(); // what is typed goes there
            }
        };
        addEventListener("keydown", onKey);
        return () => removeEventListener("keydown", onKey);
    }, []);
}
