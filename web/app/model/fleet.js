/**
 * What happened in a thread of another machine, for a person: its events as lines. Pure.
 *
 * @import {EventEnvelope} from "../protocol.js"
 */

import { SUB_AGENT } from "./state.js";
import { own } from "./words.js";

/**
 * @typedef {object} FleetLine
 * @property {string} key
 * @property {string} at
 * @property {"said" | "done"} kind
 * @property {string} who user | assistant for what was said, else empty
 * @property {string} text
 */

/** @type {Record<string, (payload: any) => string>} */
const WORDS = {
    "thread.created": () => "The thread began",
    "thread.turn-started": () => "A turn began",
    "thread.turn-completed": ({ status }) => `The turn ended: ${status}`,
    "thread.turn-interrupt-requested": () => "An interrupt was asked for",
    "thread.trim-point-created": ({ prunedMessageCount: count }) => `The context was trimmed: ${count} message${count === 1 ? "" : "s"} left it`,
    "thread.context-summarized": summarized,
    "thread.stretch-summarized": summarized,
    "thread.context-discarded": () => "Parts of the context were discarded",
    "thread.context-masked": () => "Old output left the context",
    "thread.compaction-failed": () => "A compaction failed",
    "thread.reverted": () => "The thread was reverted",
    "thread.renamed": ({ name }) => (name ? `Renamed: ${name}` : "Renamed"),
    "thread.archived": () => "Archived",
    "thread.unarchived": () => "Unarchived",
    "thread.request-opened": () => "The agent asks",
    "thread.request-closed": ({ outcome }) => `The question ended: ${outcome ?? "answered"}`,
};

const SUMMARIZED = new Set(["thread.context-summarized", "thread.stretch-summarized"]);

/** @param {any} payload */
function summarized({ tokensBefore, tokensAfter }) {
    return tokensBefore ? `What left it was summarized: ${tokensBefore} → ${tokensAfter ?? "?"} tokens` : "What left it was summarized";
}

/**
 * Returns the lines that a person wants of a thread's events, oldest first; none of its sub-agents.
 * @param {EventEnvelope[]} events
 * @returns {FleetLine[]}
 */
export function linesOf(events) {
    const payloads = events.map(({ payload }) => /** @type {any} */ (payload));
    const subAgents = new Set(payloads.filter(({ method }) => method === SUB_AGENT).map(({ requestId }) => requestId));
    const inWords = new Set(payloads.filter((_, at) => SUMMARIZED.has(events[at].type)).map(({ trimPointId }) => trimPointId));
    /** Whether the summary says it: it stands for turns in the middle. @param {number} at */
    const isSaid = (at) => events[at].type === "thread.context-discarded" && inWords.has(payloads[at].trimPointId);
    const said = events.filter((_, at) => !subAgents.has(payloads[at].requestId) && !isSaid(at));
    return said.map(lineOf).filter((line) => line !== null);
}

/**
 * Returns what a busy thread of another machine does, in words.
 * @param {{busy?: string | null, asks?: boolean}} thread as its host tells it: the kind alone of what is under way
 */
export function busyWords({ busy, asks = false }) {
    if (asks) {
        return "waits for an answer";
    }
    return busy === "turn" ? "a turn is running" : "at work";
}

/**
 * @param {EventEnvelope} event
 * @returns {FleetLine | null}
 */
function lineOf({ type, payload, eventId: key, occurredAt: at, askedBy }) {
    if (type === "thread.entry-recorded") {
        const { kind, role, text } = /** @type {any} */ (payload);
        return kind === "message" && text ? { key, at, kind: "said", who: role, text } : null;
    }
    const words = own(WORDS, type)?.(payload);
    const asked = askedBy ?? /** @type {any} */ (payload).askedBy;
    return words ? { key, at, kind: "done", who: "", text: asked ? `${words} (asked by ${asked})` : words } : null;
}
