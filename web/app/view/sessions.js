/**
 * Sessions of other agents on this machine: listed, read, and continued as a thread.
 *
 * @import {App} from "../store/app.js"
 * @import {SessionOverview} from "../protocol.js"
 */
import { age } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { html, useEffect, useState } from "../vendor.js";
import { Dialog } from "./dialogs.js";
import { Answer } from "./markdown.js";

const MOST = 50;

/** @param {{app: App}} props */
export function OtherSessions({ app }) {
    const [isOpen, setOpen] = useState(false);
    const [sessions, setSessions] = useState(/** @type {SessionOverview[] | null} */ (null));
    const [problem, setProblem] = useState("");
    useEffect(() => {
        if (isOpen) {
            app.session.read("sessions/list", { limit: MOST }).then(
                (answer) => setSessions(answer.sessions),
                (error) => setProblem(error.message),
            );
        }
    }, [isOpen]);
    // Those of trimpoint's own are in the list above.
    const own = new Set((app.threads.value ?? []).map((thread) => thread.id));
    const others = sessions?.filter((one) => one.agent !== "trimpoint" && !own.has(one.id));
    return html`
        <details class="archived" onToggle=${(/** @type {any} */ event) => setOpen(event.target.open)}>
            <summary>Sessions of other agents</summary>
            ${isOpen && others === undefined && html`<p class="quiet sidebar-empty" role="status">${problem || "Looking …"}</p>`}
            ${others?.length === 0 && html`<p class="quiet sidebar-empty">None on this machine.</p>`}
            <ul>
                ${(others ?? []).map((one) => html`
                    <li key=${`${one.agent} ${one.id}`}>
                        <button class="session" onClick=${() => { app.shownSession.value = one; }}>
                            <span class="thread-title" dir="auto">${one.title || one.firstPrompt || "Untitled"}</span>
                            <span class="thread-facts">${one.agent}${one.updatedAt && html` <time datetime=${one.updatedAt}>${age(one.updatedAt, Date.now())}</time>`}</span>
                        </button>
                    </li>
                `)}
            </ul>
        </details>
    `;
}

/** @param {{app: App}} props */
export function ShownSession({ app }) {
    const session = app.shownSession.value;
    return session && html`<${SessionDialog} key=${session.id} app=${app} session=${session} close=${() => { app.shownSession.value = null; }} />`;
}

/** @param {{app: App, session: SessionOverview, close: () => void}} props */
function SessionDialog({ app, session, close }) {
    const [text, setText] = useState("");
    const [problem, setProblem] = useState("");
    const named = { sessionId: session.id, agent: session.agent };
    useEffect(() => {
        app.session.read("sessions/export", { ...named, format: "markdown" }).then(
            (answer) => setText(answer.content.replace(/^# .*\n/, "")) /* the title of the dialog says it */, (error) => setProblem(error.message),
        );
    }, [session.id]);
    const goOn = async () => {
        close();
        const place = session.cwd ? { cwd: session.cwd } : {};
        const answer = await app.attempt(() => app.session.request("sessions/continue", { ...named, ...place }));
        if (answer) {
            app.select(answer.threadId);
            app.refreshSoon();
        }
    };
    return html`
        <${Dialog} isWide title=${session.title || session.firstPrompt || "A session"} close=${close}>
            <div class="session-text" tabindex="0" aria-label="What was said">
                ${problem && html`<p class="problem" role="alert">${problem}</p>`}
                ${text ? html`<${Answer} text=${text} />` : !problem && html`<p class="quiet" aria-busy="true">Reading …</p>`}
            </div>
            <div class="dialog-foot">
                <span class="quiet">A new thread${session.cwd && html` in <code>${visible(session.cwd)}</code>`} gets what its context holds.</span>
                <button class="button" onClick=${close}>Close</button>
                <button class="button is-main" onClick=${goOn}>Continue as a thread</button>
            </div>
        <//>
    `;
}
