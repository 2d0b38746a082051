/**
 * What the model is sent next, and what of it may go.
 *
 * A daemon that knows `context/inspect` tells every item of the model's input; an older one the parts that may be
 * discarded. Both are shown in one form.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {ContextMessage} from "../protocol.js"
 */
import { Refusal } from "../link/peer.js";
import { counted, shortCount } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { own } from "../model/words.js";
import { html, useEffect, useState } from "../vendor.js";

/** @type {Record<string, string>} */
const WORDS = { message: "Messages", fileRead: "Files read", command: "Commands", check: "Checks", fileChange: "File changes", plan: "Plans",
    title: "Titles", contextTool: "Context tools", summary: "Summaries", instructions: "Instructions", tools: "Tools",
    environment: "Environment", projectDocs: "Project documents", skills: "Skills", pinned: "Pinned", user: "Prompts", assistant: "Answers",
    toolCall: "Tool calls", toolResult: "Tool results", reasoning: "Reasoning", image: "Images", other: "Other",
    overhead: "Tools and the rest" };
/** @type {Record<string, string>} */
const PROTECTED = { newest: "newest", codeChange: "changed code", plan: "the plan", finalAnswer: "an answer", summary: "a summary", pinned: "pinned",
    injected: "injected", notRecorded: "Codex's own" };

/**
 * @typedef {object} Part
 * @property {string} key
 * @property {string} unit what can only leave together has the same
 * @property {string} kind
 * @property {string} preview
 * @property {number} tokens
 * @property {string[]} entryIds what is discarded with it
 * @property {string | null} stays why it cannot be discarded
 *
 * @typedef {object} Content
 * @property {Part[]} parts
 * @property {[kind: string, tokens: number][]} sums the largest first
 * @property {number} total
 * @property {string | null} note
 */

/** @param {{app: App, thread: Thread}} props */
export function ContextPanel({ app, thread }) {
    const [found, setFound] = useState(/** @type {Content | null} */ (null));
    const [problem, setProblem] = useState("");
    const [chosen, setChosen] = useState(/** @type {ReadonlySet<string>} */ (new Set()));
    const [kind, setKind] = useState(/** @type {string | null} */ (null));
    const isBusy = thread.isBusy;
    const version = thread.version.value;
    useEffect(() => {
        if (isBusy) {
            return;
        }
        contentOf(app, thread.id).then(
            (content) => { setFound(content); setChosen(new Set()); setProblem(""); },
            (error) => setProblem(error.message),
        );
    }, [thread, isBusy, version]);
    if (problem) {
        return html`<p class="quiet" role="alert">${problem}</p>`;
    }
    if (found === null) {
        return html`<p class="quiet" aria-busy="true">Looking …</p>`;
    }
    const shown = found.parts.filter((part) => kind === null || part.kind === kind);
    const taken = found.parts.filter((part) => chosen.has(part.unit));
    const freed = taken.reduce((sum, part) => sum + part.tokens, 0);
    /** @param {"thread.context.discard" | "thread.context.mask"} type */
    const remove = (type) => app.dispatch(thread.id, {
        type, entryIds: [...new Set(taken.flatMap((part) => part.entryIds))],
    });
    /** @param {string} unit */
    const toggle = (unit) => {
        const next = new Set(chosen);
        if (!next.delete(unit)) {
            next.add(unit);
        }
        setChosen(next);
    };
    return html`
        <${Classes} content=${found} kind=${kind} choose=${setKind} />
        ${found.note && html`<p class="quiet">${found.note}</p>`}
        <ul class="segments">
            ${shown.map((part) => html`<${PartView} key=${part.key} part=${part} isChosen=${chosen.has(part.unit)} toggle=${toggle} />`)}
        </ul>
        ${shown.length === 0 && html`<p class="quiet">The context holds nothing yet.</p>`}
        <div class="panel-foot">
            <span role="status">${chosen.size
                ? `${counted(chosen.size, "part")}, about ${shortCount(freed)} tokens`
                : `about ${shortCount(found.total)} tokens in all`}</span>
            <button class="button" disabled=${chosen.size === 0 || isBusy} title="One line in the place of the output"
                onClick=${() => remove("thread.context.mask")}>Mask output</button>
            <button class="button is-main" disabled=${chosen.size === 0 || isBusy}
                onClick=${() => remove("thread.context.discard")}>Discard</button>
        </div>
    `;
}

/**
 * @param {App} app
 * @param {string} threadId
 * @returns {Promise<Content>}
 */
async function contentOf(app, threadId) {
    try {
        return inspected(await app.session.read("context/inspect", { threadId }));
    } catch (error) {
        if (!(error instanceof Refusal) || error.blocker) {
            throw error;
        }
    }
    const list = await app.session.read("context/messages/list", { threadId });
    const parts = list.messages.map((/** @type {ContextMessage} */ one) => ({
        key: one.shortId, unit: one.shortId, kind: one.kind, preview: one.preview, tokens: one.estTokens, entryIds: one.entryIds, stays: one.protected,
    }));
    return { parts, sums: sumsOf(parts), total: list.totalEstTokens, note: list.refusal };
}

/**
 * @param {any} answer of `context/inspect`
 * @returns {Content}
 */
function inspected(answer) {
    const parts = answer.items.map((/** @type {any} */ item) => ({
        key: String(item.index), unit: item.shortId ?? String(item.index), kind: item.class, preview: item.preview, tokens: item.estTokens,
        entryIds: item.entryId ? [item.entryId] : [], stays: item.protected ?? (item.entryId ? null : own(PROTECTED, item.class) ? item.class : "notRecorded"),
    }));
    const sums = answer.totals.map((/** @type {any} */ one) => [one.class, one.estTokens]);
    const whole = answer.overheadTokens > 0 ? [...sums, ["overhead", answer.overheadTokens]] : sums;
    whole.sort((/** @type {any} */ one, /** @type {any} */ other) => other[1] - one[1]);
    return { parts, sums: whole, total: answer.usedTokens, note: answer.note };
}

/**
 * @param {Part[]} parts
 * @returns {[string, number][]}
 */
function sumsOf(parts) {
    /** @type {Map<string, number>} */
    const sums = new Map();
    for (const part of parts) {
        sums.set(part.kind, (sums.get(part.kind) ?? 0) + part.tokens);
    }
    return [...sums].sort((one, other) => other[1] - one[1]);
}

/** @param {{content: Content, kind: string | null, choose: (kind: string | null) => void}} props */
function Classes({ content, kind, choose }) {
    const { sums } = content;
    // The estimates of the parts can be more than what was measured of the whole.
    const total = Math.max(content.total, sums.reduce((sum, [, tokens]) => sum + tokens, 0));
    return html`
        <div class="stack" aria-hidden="true">
            ${sums.map(([name, tokens], at) => html`
                <span key=${name} class=${`stack-part is-${at % 12}`} style=${{ flexGrow: String(Math.max(tokens, 1)) }}></span>
            `)}
        </div>
        <ul class="classes" aria-label="By kind">
            ${sums.map(([name, tokens], at) => html`
                <li key=${name}>
                    <button aria-pressed=${kind === name} onClick=${() => choose(kind === name ? null : name)}>
                        <span class=${`swatch is-${at % 12}`}></span>${own(WORDS, name) ?? name}
                        <span class="quiet">${shortCount(tokens)}${total ? ` · ${Math.round((tokens / total) * 100)}%` : ""}</span>
                    </button>
                </li>
            `)}
        </ul>
    `;
}

/** @param {{part: Part, isChosen: boolean, toggle: (unit: string) => void}} props */
function PartView({ part, isChosen, toggle }) {
    return html`
        <li class="segment">
            <label>
                <input type="checkbox" checked=${isChosen} disabled=${part.stays !== null} onChange=${() => toggle(part.unit)} />
                <span class="segment-text" dir="auto">${visible(part.preview ?? "") || own(WORDS, part.kind) || part.kind}</span>
                <span class="segment-facts">
                    ${part.stays !== null && html`<span class="tag">${own(PROTECTED, part.stays) ?? part.stays}</span>`}
                    ${shortCount(part.tokens)}
                </span>
            </label>
        </li>
    `;
}
