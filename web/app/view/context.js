/**
 * What the agent's context holds, and what of it may go.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {ContextMessage, ContextMessageList} from "../protocol.js"
 */
import { counted, shortCount } from "../model/format.js";
import { html, useEffect, useState } from "../vendor.js";

/** @type {Record<string, string>} */
const WORDS = { message: "Messages", fileRead: "Files read", command: "Commands", check: "Checks", fileChange: "File changes", plan: "Plans",
    title: "Titles", toolCall: "Tool calls", contextTool: "Context tools", summary: "Summaries" };
/** @type {Record<string, string>} */
const PROTECTED = { newest: "newest", codeChange: "changed code", plan: "the plan", finalAnswer: "an answer", summary: "a summary",
    notRecorded: "not recorded" };

/** @param {{app: App, thread: Thread}} props */
export function ContextPanel({ app, thread }) {
    const [found, setFound] = useState(/** @type {ContextMessageList | null} */ (null));
    const [problem, setProblem] = useState("");
    const [chosen, setChosen] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
    const [kind, setKind] = useState(/** @type {string | null} */ (null));
    const isBusy = thread.isBusy;
    const version = thread.version.value;
    useEffect(() => {
        if (!isBusy) {
            app.session.request("context/messages/list", { threadId: thread.id }).then(
                (answer) => { setFound(answer); setChosen(new Set()); setProblem(""); },
                (error) => setProblem(error.message),
            );
        }
    }, [thread, isBusy, version]);
    if (problem) {
        return html`<p class="quiet" role="alert">${problem}</p>`;
    }
    if (found === null) {
        return html`<p class="quiet" aria-busy="true">Looking …</p>`;
    }
    const shown = found.messages.filter((one) => kind === null || one.kind === kind);
    const freed = found.messages.filter((one) => chosen.has(one.shortId)).reduce((sum, one) => sum + one.estTokens, 0);
    const discard = async () => {
        const entryIds = found.messages.filter((one) => chosen.has(one.shortId)).flatMap((one) => one.entryIds);
        await app.dispatch(thread.id, { type: "thread.context.discard", entryIds });
    };
    /** @param {string} id */
    const toggle = (id) => {
        const next = new Set(chosen);
        if (!next.delete(id)) {
            next.add(id);
        }
        setChosen(next);
    };
    return html`
        <${Classes} messages=${found.messages} total=${found.totalEstTokens} kind=${kind} choose=${setKind} />
        ${found.refusal && html`<p class="quiet">${found.refusal}</p>`}
        <ul class="segments">
            ${shown.map((one) => html`<${Segment} key=${one.shortId} one=${one} isChosen=${chosen.has(one.shortId)} toggle=${toggle} />`)}
        </ul>
        ${shown.length === 0 && html`<p class="quiet">The context holds nothing yet.</p>`}
        <div class="panel-foot">
            <span role="status">${chosen.size ? `${counted(chosen.size, "part")}, about ${shortCount(freed)} tokens` : `about ${shortCount(found.totalEstTokens)} tokens in all`}</span>
            <button class="button is-main" disabled=${chosen.size === 0 || isBusy} onClick=${discard}>Discard</button>
        </div>
    `;
}

/** @param {{messages: ContextMessage[], total: number, kind: string | null, choose: (kind: string | null) => void}} props */
function Classes({ messages, total, kind, choose }) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const one of messages) {
        sums.set(one.kind, (sums.get(one.kind) ?? 0) + one.estTokens);
    }
    const classes = [...sums].sort((one, other) => other[1] - one[1]);
    return html`
        <div class="stack" aria-hidden="true">
            ${classes.map(([name, tokens], at) => html`
                <span key=${name} class=${`stack-part is-${at % 6}`} style=${{ flexGrow: String(Math.max(tokens, 1)) }}></span>
            `)}
        </div>
        <ul class="classes" aria-label="By kind">
            ${classes.map(([name, tokens], at) => html`
                <li key=${name}>
                    <button aria-pressed=${kind === name} onClick=${() => choose(kind === name ? null : name)}>
                        <span class=${`swatch is-${at % 6}`}></span>${WORDS[name] ?? name}
                        <span class="quiet">${shortCount(tokens)}${total ? ` · ${Math.round((tokens / total) * 100)}%` : ""}</span>
                    </button>
                </li>
            `)}
        </ul>
    `;
}

/** @param {{one: ContextMessage, isChosen: boolean, toggle: (id: string) => void}} props */
function Segment({ one, isChosen, toggle }) {
    return html`
        <li class="segment">
            <label>
                <input type="checkbox" checked=${isChosen} disabled=${one.protected !== null} onChange=${() => toggle(one.shortId)} />
                <span class="segment-text" dir="auto">${one.preview || one.kind}</span>
                <span class="segment-facts">
                    ${one.protected !== null && html`<span class="tag">${PROTECTED[one.protected] ?? one.protected}</span>`}
                    ${shortCount(one.estTokens)}
                </span>
            </label>
        </li>
    `;
}
