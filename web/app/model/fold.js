/**
 * The state of one thread in the page: the fold of the daemon's events over a snapshot. Pure: no clock, no network.
 *
 * Entries are kept by turn, because a late entry belongs to the end of its turn. Boundaries are kept as numbers of
 * turns: everything before turn number `place` left the context. What the page cannot know from an event alone (a revert
 * or an undo may bring back what it never had) makes the state `stale`; its owner then asks for a new snapshot.
 * `tests/web/test_fold.py` holds this module against the projector of the daemon.
 *
 * @import {OrchestrationThread, ContextTrimPoint, EventEnvelope, TimelinePage, ThreadOperation, PendingRequest}
 *   from "../protocol.js"
 */

/**
 * @typedef {object} Entry
 * @property {string} id
 * @property {string} turnId
 * @property {"message" | "activity"} kind
 * @property {string} role user | assistant for messages, the type of Codex's item for activities
 * @property {string} text
 * @property {string} createdAt
 * @property {any} detail Codex's own item, where the text is not all
 * @property {string | null} discardId the discard that took it out of the context
 */

/**
 * @typedef {object} Turn
 * @property {string} id
 * @property {string} status running | completed | interrupted | failed
 * @property {string} startedAt
 * @property {string | null} completedAt
 * @property {string | null} error
 */

/**
 * @typedef {object} Point
 * @property {string} id
 * @property {"boundary" | "discard"} kind
 * @property {string} createdAt
 * @property {number} place how many turns stand before it
 * @property {number} count messages that it pruned, or entries that it discarded
 * @property {string | null} summary
 * @property {boolean} summaryUnavailable
 * @property {string} trigger
 * @property {number} generation
 */

/**
 * @typedef {object} ThreadState
 * @property {string} id
 * @property {string | null} name
 * @property {string} cwd
 * @property {string | null} branchName
 * @property {boolean} archived
 * @property {string} createdAt
 * @property {string | null} readOnly
 * @property {string | null} newThreadId the thread that it went on as
 * @property {number} sequence the last event that is in it
 * @property {Turn[]} turns by number; those before `turnsFrom` are not known, and left out of the array
 * @property {number} turnsFrom
 * @property {Map<string, number>} turnIndex of the turns that are known
 * @property {Map<string, Entry[]>} entries by turn; of turns before `loadedFrom` there are none, or not all
 * @property {number} loadedFrom
 * @property {boolean} isComplete every entry is loaded
 * @property {Point[]} points in the order in which they were made
 * @property {{status: string, generation: number, reason: string}} session
 * @property {ThreadOperation | null} operation
 * @property {PendingRequest[]} pendingRequests
 * @property {number} compactionCount
 * @property {string | null} stale why a new snapshot is needed
 */

const COMPACTIONS = new Set(["compact", "auto", "overflow"]);
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
 * Applies one event; one that is in the state already changes nothing.
 * @param {ThreadState} state
 * @param {EventEnvelope} envelope
 * @returns {boolean} whether it was new
 */
export function apply(state, envelope) {
    if (envelope.sequence <= state.sequence) {
        return false;
    }
    state.sequence = envelope.sequence;
    FOLDS[envelope.type]?.(state, /** @type {any} */ (envelope.payload), envelope);
    return true;
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

/** @typedef {(state: ThreadState, payload: any, envelope: EventEnvelope) => void} Fold */
/** @type {Record<string, Fold>} */
const FOLDS = {
    "thread.renamed": (state, payload) => {
        state.name = payload.name;
    },
    "thread.archived": (state) => {
        state.archived = true;
    },
    "thread.unarchived": (state) => {
        state.archived = false;
        state.newThreadId = null;
    },
    "thread.archived-and-new-created": (state, payload) => {
        state.archived = true;
        state.newThreadId = payload.newThreadId;
    },
    "thread.generation-opened": (state, payload) => {
        state.session = { status: "pending", generation: payload.generation, reason: payload.reason };
    },
    "thread.provider-bound": (state, payload) => {
        if (payload.generation === state.session.generation && state.session.status !== "stopped") {
            state.session = { ...state.session, status: "pending" };
        }
    },
    "thread.session-ready": (state, payload) => {
        if (payload.generation === state.session.generation) {
            state.session = { ...state.session, status: "ready" };
        }
    },
    "thread.session-stopped": (state, payload) => {
        if (payload.generation === state.session.generation) {
            state.session = { ...state.session, status: "stopped" };
        }
    },
    "thread.operation-started": (state, payload, envelope) => {
        const { operationId, kind } = payload;
        const trigger = null;
        state.operation = { id: operationId, kind, phase: "requested", startedAt: envelope.occurredAt, message: "", trigger };
    },
    "thread.operation-advanced": (state, payload) => {
        if (state.operation !== null && state.operation.id === payload.operationId) {
            const message = payload.message || state.operation.message;
            state.operation = { ...state.operation, phase: payload.phase, message };
        }
    },
    "thread.compaction-requested": (state, payload) => {
        if (state.operation?.kind === "compact") {
            state.operation = { ...state.operation, trigger: payload.trigger };
        }
    },
    "thread.trim-point-created": (state, payload) => {
        state.points.push({
            id: payload.trimPointId,
            kind: "boundary",
            createdAt: payload.createdAt,
            place: placeOf(state, payload.firstKeptTurnId),
            count: payload.prunedMessageCount,
            summary: null,
            summaryUnavailable: payload.summaryUnavailable,
            trigger: payload.trigger,
            generation: payload.generation,
        });
        state.compactionCount += Number(COMPACTIONS.has(payload.trigger));
    },
    "thread.context-summarized": (state, payload) => {
        const point = state.points.findLast((one) => one.id === payload.trimPointId);
        if (point) {
            point.summary = payload.summary;
            point.summaryUnavailable = false;
        }
    },
    "thread.context-discarded": (state, payload) => {
        state.points.push({
            id: payload.trimPointId,
            kind: "discard",
            createdAt: payload.createdAt,
            place: state.turns.length,
            count: payload.entryIds.length,
            summary: null,
            summaryUnavailable: false,
            trigger: payload.trigger,
            generation: payload.generation,
        });
        markDiscarded(state, new Set(payload.entryIds), payload.trimPointId);
    },
    "thread.turn-started": (state, payload, envelope) => {
        state.turnIndex.set(payload.turnId, state.turns.length);
        state.turns.push({
            id: payload.turnId, status: "running", startedAt: envelope.occurredAt, completedAt: null, error: null,
        });
        state.entries.set(payload.turnId, []);
    },
    "thread.turn-retried": (state, payload) => {
        changeTurn(state, payload.turnId, { status: "running", completedAt: null, error: null });
    },
    "thread.turn-completed": (state, payload, envelope) => {
        const { status, error } = payload;
        changeTurn(state, payload.turnId, { status, error, completedAt: envelope.occurredAt });
    },
    "thread.entry-recorded": recordEntry,
    "thread.request-opened": (state, payload, envelope) => {
        const opened = { id: payload.requestId, method: payload.method, since: envelope.occurredAt };
        state.pendingRequests = [...state.pendingRequests, opened];
    },
    "thread.request-closed": (state, payload) => {
        state.pendingRequests = state.pendingRequests.filter((one) => one.id !== payload.requestId);
    },
    "thread.trim-undone": becomeStale,
    "thread.trim-redone": becomeStale,
    "thread.turns-reverted": becomeStale,
    "thread.reverted": becomeStale,
};

/** @type {Fold} */
function becomeStale(state, _payload, envelope) {
    state.stale = envelope.type;
}

/** @type {Fold} */
function recordEntry(state, payload, envelope) {
    const index = state.turnIndex.get(payload.turnId);
    if (index === undefined) {
        // It is of a turn that is not loaded. Which trim point counts a message of it only the daemon knows.
        state.stale = payload.kind === "message" && state.turnsFrom > 0 ? "thread.entry-recorded" : state.stale;
        return;
    }
    if (payload.kind === "message") {
        countLateMessage(state, index);
    }
    const known = state.entries.get(payload.turnId);
    if (!known && index < state.loadedFrom) {
        return; // it comes with its page
    }
    if (known?.some((one) => one.id === payload.entryId)) {
        return; // it came with a page already
    }
    const { entryId: id, turnId, kind, role, text, detail } = payload;
    const entry = { id, turnId, kind, role, text, detail, createdAt: envelope.occurredAt, discardId: null };
    // A new list, so that a view of the turn sees that it changed.
    state.entries.set(turnId, [...(known ?? []), entry]);
}

/**
 * A message of a turn that was pruned meanwhile belongs to what was pruned first of all.
 * @param {ThreadState} state
 * @param {number} turnIndex
 */
function countLateMessage(state, turnIndex) {
    const point = state.points.find((one) => one.kind === "boundary" && one.place > turnIndex);
    if (point) {
        point.count += 1;
    }
}

/**
 * @param {ThreadState} state
 * @param {string} turnId
 * @param {Partial<Turn>} change
 */
function changeTurn(state, turnId, change) {
    const index = state.turnIndex.get(turnId);
    if (index !== undefined) {
        state.turns[index] = { ...state.turns[index], ...change };
    }
}

/**
 * @param {ThreadState} state
 * @param {string | null} firstKept
 */
function placeOf(state, firstKept) {
    return firstKept === null ? state.turns.length : (state.turnIndex.get(firstKept) ?? state.turns.length);
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
        summary: point.summary,
        summaryUnavailable: point.summaryUnavailable,
        trigger: point.trigger,
        generation: point.generation,
    };
}

/**
 * Entries are named by their id where that means one alone, else with their turn's id before it.
 * @param {ThreadState} state
 * @param {Set<string>} names
 * @param {string} discardId
 */
function markDiscarded(state, names, discardId) {
    for (const turn of state.turns.slice(Math.max(activeFrom(state), state.turnsFrom))) {
        const entries = state.entries.get(turn.id);
        if (entries?.some((entry) => isNamed(entry, names))) {
            const marked = entries.map((entry) => (isNamed(entry, names) ? { ...entry, discardId } : entry));
            state.entries.set(turn.id, marked);
        }
    }
}

/**
 * @param {Entry} entry
 * @param {Set<string>} names
 */
function isNamed(entry, names) {
    return names.has(entry.id) || names.has(`${entry.turnId}#${entry.id}`);
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
    };
}
