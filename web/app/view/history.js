/**
 * What the daemon finds in the history of threads, also what the agent's context no longer holds.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {HistoryHit, HistorySearchParams} from "../protocol.js"
 */
import { age, counted } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { asTyped, piecesOf } from "../model/query.js";
import { own } from "../model/words.js";
import { html, useEffect, useState } from "../vendor.js";
import { titleOf } from "../model/threads.js";

const WAIT_MS = 150;
const PAGE = 50;
/** @type {Record<HistoryHit["kind"], string>} */
const KINDS = {
    user: "you", assistant: "agent", command: "command", fileChange: "edit", toolCall: "tool call", reasoning: "thought",
    plan: "plan", other: "other",
};

/**
 * @typedef {NonNullable<HistorySearchParams["scope"]>} Scope
 * @typedef {{hits: HistoryHit[], nextCursor: string | null, unread: number}} Found
 */

/**
 * Searches as it is typed; `otherwise` is shown while the history cannot be searched.
 * @param {{app: App, thread: Thread, text: string, otherwise: any}} props
 */
export function HistoryHits({ app, thread, text, otherwise }) {
    const [scope, setScope] = useState(/** @type {Scope} */ ("thread"));
    const [isPrunedOnly, setPrunedOnly] = useState(false);
    const { found, problem, more } = useSearch(app, { query: asTyped(text), threadId: thread.id, scope, prunedOnly: isPrunedOnly });
    return html`
        <div class="search-where">
            <select class="field" aria-label="Where to search" value=${scope} onChange=${(/** @type {any} */ event) => setScope(event.target.value)}>
                <option value="thread">This thread</option>
                <option value="folder">Threads of this folder</option>
                <option value="all">All threads</option>
            </select>
            <label><input type="checkbox" checked=${isPrunedOnly} onChange=${() => setPrunedOnly(!isPrunedOnly)} /> Pruned only</label>
        </div>
        ${problem
            ? html`<p class="problem" role="alert">${problem}</p>${otherwise}`
            : html`<p class="quiet" role="status">${found && inWords(found)}</p>`}
        <ul class="hits">
            ${(found?.hits ?? []).map((hit) => html`<${Hit} key=${`${hit.threadId} ${hit.turnId} ${hit.entryId}`} app=${app} hit=${hit} isNamed=${scope !== "thread"} />`)}
        </ul>
        ${found?.nextCursor && html`<button class="button" onClick=${more}>Show more</button>`}
    `;
}

/**
 * Asks the daemon, once the person has paused; the answer to an older question is dropped.
 * @param {App} app
 * @param {HistorySearchParams} asked
 */
function useSearch(app, asked) {
    const [found, setFound] = useState(/** @type {Found | null} */ (null));
    const [problem, setProblem] = useState("");
    const key = JSON.stringify(asked);
    useEffect(() => {
        let isWanted = true;
        const ask = async () => {
            try {
                const answer = asked.query ? await app.session.read("history/search", { ...asked, limit: PAGE }) : null;
                if (isWanted) {
                    setFound(answer);
                    setProblem("");
                }
            } catch (error) {
                if (isWanted) {
                    setFound(null);
                    setProblem(/** @type {Error} */ (error).message);
                }
            }
        };
        const timer = setTimeout(ask, WAIT_MS);
        return () => {
            isWanted = false;
            clearTimeout(timer);
        };
    }, [key]);
    const more = async () => {
        const next = await app.attempt(() => app.session.read("history/search", { ...asked, limit: PAGE, cursor: found?.nextCursor }));
        if (next) {
            setFound((before) => (before === found ? { ...next, hits: [...(before?.hits ?? []), ...next.hits] } : before));
        }
    };
    return { found, problem, more };
}

/** @param {{app: App, hit: HistoryHit, isNamed: boolean}} props */
function Hit({ app, hit, isNamed }) {
    const preview = app.threads.value?.find((one) => one.id === hit.threadId)?.preview;
    const name = titleOf({ name: hit.threadName, preview });
    return html`
        <li>
            <button onClick=${() => app.reveal(hit.threadId, hit.turnId, hit.entryId)}>
                <span class="hit-place">
                    ${isNamed && html`<span class="hit-thread" dir="auto">${name}</span>`}
                    <span>Turn ${hit.turn} · ${own(KINDS, hit.kind) ?? hit.kind}</span>
                    ${!hit.inContext && html`<span class="tag">not in context</span>`}
                    <time datetime=${hit.createdAt}>${age(hit.createdAt, Date.now())}</time>
                </span>
                <span class="hit-text" dir="auto">
                    ${piecesOf(hit.snippet, hit.marks).map((piece) => (piece.isMarked ? html`<mark>${visible(piece.text)}</mark>` : visible(piece.text)))}
                </span>
            </button>
        </li>
    `;
}

/** @param {Found} found */
function inWords({ hits, nextCursor, unread }) {
    const count = `${counted(hits.length, "hit")}${nextCursor ? " and more" : ""}`;
    return unread > 0 ? `${count}. The history of ${counted(unread, "thread")} is still being read.` : count;
}
