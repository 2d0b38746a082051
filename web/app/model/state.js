/**
 * The state of one thread in the page: made of a snapshot and of pages of the history, and what is asked of it. Pure: no
 * clock, no network.
 *
 * @import {OrchestrationThread, ContextTrimPoint, TimelinePage} from "../protocol.js"
 * @import {Entry, Point, ThreadState, Turn} from "./shapes.js"
 */

/** The method of a pending request that stands for a sub-agent at work. */
export const SUB_AGENT = "subAgent";
export const SUB_AGENT_WORKS = "a sub-agent is at work";

const ENDED = new Set(["ready", "failed", "cancelled"]);

/**
 * Returns the state that a snapshot stands for, without entries.
 * @param {OrchestrationThread} thread
 * @returns {ThreadState}
 */
export function stateOf(thread) {
    /** @type {Turn[]} */
    const turns = new Array(thread.turnCount);
    /** @type {ThreadState} */
    const state = {
        id: thread.id,
        name: thread.name,
        cwd: thread.cwd,
        branchName: thread.branchName,
        archived: thread.archived,
        createdAt: thread.createdAt,
        readOnly: thread.readOnly,
        newThreadId: thread.newThreadId ?? null,
        parentId: thread.parentThreadId ?? null,
        handoffIds: (thread.handoffs ?? []).map((one) => one.threadId),
        sequence: thread.sequence,
        turns,
        turnsFrom: turns.length,
        turnIndex: new Map(),
        entries: new Map(),
        loadedFrom: turns.length,
        isComplete: turns.length === 0,
        points: [],
        session: {
            status: thread.session.status,
            generation: thread.session.generation,
            reason: thread.session.generationReason,
        },
        operation: thread.operation,
        pendingRequests: thread.pendingRequests,
        compactionCount: thread.compactionCount,
        queue: (thread.queue ?? []).map(({ id, input }) => ({ id, input })),
        queueHold: thread.queueHold ?? null,
        stale: null,
    };
    addTurns(state, thread);
    for (const point of thread.contextTrimPoints) {
        state.points.push(pointOf(point));
    }
    return state;
}

/**
 * Adds the turns of a snapshot that are not known yet.
 * @param {ThreadState} state
 * @param {OrchestrationThread} thread
 */
export function addTurns(state, thread) {
    const first = thread.firstTurn ?? 0;
    thread.turns.forEach(({ id, status, startedAt, completedAt, error }, index) => {
        const number = first + index;
        if (number < state.turnsFrom) {
            state.turns[number] = { id, status, startedAt, completedAt, error };
            state.turnIndex.set(id, number);
        }
    });
    state.turnsFrom = Math.min(state.turnsFrom, first);
}

/**
 * Adds a page of `timeline/read` with all sections expanded; pages come from the newest to the oldest.
 * @param {ThreadState} state
 * @param {TimelinePage["entries"]} page oldest first
 * @param {boolean} isLast whether nothing older is left
 */
export function addOlder(state, page, isLast) {
    const discards = new Set(state.points.filter((point) => point.kind === "discard").map((point) => point.id));
    /** @type {Map<string, Entry[]>} */
    const byTurn = new Map();
    for (const shown of page) {
        if (shown.kind !== "message" && shown.kind !== "activity") {
            continue;
        }
        const entry = entryOf(shown, discards);
        const known = state.entries.get(entry.turnId);
        if (known?.some((one) => one.id === entry.id)) {
            continue;
        }
        const fresh = byTurn.get(entry.turnId);
        if (fresh) {
            fresh.push(entry);
        } else {
            byTurn.set(entry.turnId, [entry]);
        }
    }
    for (const [turnId, fresh] of byTurn) {
        state.entries.set(turnId, [...fresh, ...(state.entries.get(turnId) ?? [])]);
        const index = state.turnIndex.get(turnId);
        state.loadedFrom = Math.min(state.loadedFrom, index ?? state.loadedFrom);
    }
    if (isLast) {
        state.loadedFrom = 0;
        state.isComplete = true;
    }
}

/**
 * Returns the number of the first turn that is in the context.
 * @param {ThreadState} state
 */
export function activeFrom(state) {
    const newest = state.points.findLast((point) => point.kind === "boundary");
    return newest ? Math.min(newest.place, state.turns.length) : 0;
}

/**
 * Returns the turn that runs, if one does.
 * @param {ThreadState} state
 */
export function runningTurn(state) {
    const last = state.turns.at(-1);
    return last?.status === "running" ? last : null;
}

/**
 * Returns whether an operation is under way.
 * @param {ThreadState} state
 */
export function isOperating(state) {
    return state.operation !== null && !ENDED.has(state.operation.phase);
}

/**
 * Returns what keeps commands from running now, in words.
 * @param {ThreadState} state
 * @returns {string | null}
 */
export function blockerOf(state) {
    if (state.pendingRequests.some((one) => one.method !== SUB_AGENT)) {
        return "the agent waits for an answer";
    }
    if (runningTurn(state)) {
        return "a turn is running";
    }
    if (isOperating(state)) {
        return `${state.operation?.kind} is under way`;
    }
    return state.pendingRequests.length > 0 ? SUB_AGENT_WORKS : null;
}

/**
 * Returns how far a trim point has come: `pending`, `applied` or `deferred`.
 * @param {ThreadState} state
 * @param {Point} point
 */
export function statusOf(state, point) {
    if (point.generation < state.session.generation || state.session.status !== "pending") {
        return "applied";
    }
    return state.operation?.phase === "failed" ? "deferred" : "pending";
}

/**
 * @param {ContextTrimPoint} point
 * @returns {Point}
 */
function pointOf(point) {
    const isDiscard = point.trimKind === "discard";
    return {
        id: point.id,
        kind: isDiscard ? "discard" : "boundary",
        createdAt: point.createdAt,
        place: point.turnsBefore ?? 0,
        count: isDiscard ? point.discardedEntryIds.length : point.prunedMessageCount,
        masked: point.maskedEntryIds?.length ?? 0,
        summary: point.summary,
        summaryUnavailable: point.summaryUnavailable,
        trigger: point.trigger,
        generation: point.generation,
    };
}

/**
 * @param {any} shown
 * @param {Set<string>} discards
 * @returns {Entry}
 */
function entryOf(shown, discards) {
    const isMessage = shown.kind === "message";
    return {
        id: shown.id,
        turnId: shown.turnId,
        kind: shown.kind,
        role: isMessage ? shown.role : shown.activity,
        text: isMessage ? shown.text : shown.title,
        createdAt: shown.createdAt,
        detail: shown.detail ?? null,
        discardId: discards.has(shown.trimPointId) ? shown.trimPointId : null,
        isMasked: shown.masked === true,
    };
}
