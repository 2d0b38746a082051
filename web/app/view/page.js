/**
 * The page: threads at the left, the conversation in the middle, one panel at the right.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 */
import { html, useEffect } from "../vendor.js";
import { Boundary } from "./boundary.js";
import { goToQuestion, Questions } from "./cards.js";
import { Checkpoints } from "./checkpoints.js";
import { Composer } from "./composer.js";
import { ContextPanel } from "./context.js";
import { Dialogs } from "./dialogs.js";
import { ShownMachineThread } from "./fleet.js";
import { Advice, Header } from "./header.js";
import { Icon } from "./icons.js";
import { Pins } from "./pins.js";
import { Search } from "./search.js";
import { ShownSession } from "./sessions.js";
import { Sidebar, titleOf } from "./sidebar.js";
import { Timeline } from "./timeline.js";

const TITLES = { context: "What the context holds", checkpoints: "Files after each turn", search: "Search" };

/** @param {{app: App}} props */
export function Page({ app }) {
    const thread = app.open.value;
    const panel = app.panel.value;
    useKeys(app);
    return html`
        <div class=${`page ${panel && thread ? "has-panel" : ""} ${app.isListOpen.value ? "has-list" : ""}`}>
            <${Sidebar} app=${app} />
            <main class="main">
                <${Connection} app=${app} />
                ${thread ? html`<${Conversation} key=${thread.id} app=${app} thread=${thread} />` : html`<${NoThread} app=${app} />`}
            </main>
            ${panel && thread && html`
                <aside class="panel" aria-label=${TITLES[panel]}>
                    <header class="panel-head"><h2>${TITLES[panel]}</h2>
                        <button class="icon-button" aria-label="Close" onClick=${() => { app.panel.value = null; }}><${Icon} name="close" /></button>
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
    useEffect(() => {
        document.title = `${thread.isBusy ? "● " : ""}${title} – trimpoint`;
    });
    return html`
        <${Header} app=${app} thread=${thread} />
        <div class="conversation"><${Timeline} app=${app} thread=${thread} /></div>
        <div class="bottom">
            <${Boundary} of=${thread.questions.value} what="The question of the agent"><${Questions} app=${app} thread=${thread} /><//>
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

/** @param {{app: App}} props */
function NoThread({ app }) {
    if (app.threads.value === null) {
        return html`<div class="empty" aria-busy="true"><span class="spinner"></span></div>`;
    }
    return html`
        <div class="empty">
            <h1>No thread is open</h1>
            <p>A thread is a conversation with the agent, in one folder.</p>
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
    const { undo } = notice;
    return html`
        <div class=${`notice is-${notice.kind}`} role=${notice.kind === "problem" ? "alert" : "status"}>
            <${Icon} name=${notice.kind === "problem" ? "warn" : "check"} />
            <p dir="auto">${notice.text}${notice.hint && html` <span class="quiet">${notice.hint}</span>`}</p>
            ${undo && html`<button class="button is-small" onClick=${() => app.command(thread, undo)}>Undo</button>`}
            <button class="icon-button" aria-label="Dismiss" onClick=${() => { app.notice.value = null; }}><${Icon} name="close" /></button>
        </div>
    `;
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
            } else if (event.key === "Escape" && !event.defaultPrevented && !document.querySelector("dialog[open]")) {
                app.panel.value = null;
                app.isListOpen.value = false;
            } else if (event.key === "/" && event.target === document.body) {
                event.preventDefault();
                document.querySelector("textarea")?.focus();
            }
        };
        addEventListener("keydown", onKey);
        return () => removeEventListener("keydown", onKey);
    }, []);
}
