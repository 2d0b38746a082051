/**
 * The fold of the daemon's events over the state of a thread. Pure: no clock, no network.
 *
 * What the page cannot know from an event alone (a revert or an undo may bring back what it never had) makes the state
 * `stale`; its owner then asks for a new snapshot. `tests/web/test_fold.py` holds this module and `state.js` against the
 * projector of the daemon.
 *
 * @import {EventEnvelope} from "../protocol.js"
 * @import {Entry, ThreadState, Turn} from "./shapes.js"
 */
import { activeFrom } from "./state.js";
import { own } from "./words.js";

const COMPACTIONS = new Set(["compact", "auto", "overflow"]);

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
    own(FOLDS, envelope.type)?.(state, /** @type {any} */ (envelope.payload), envelope);
    return true;
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
    "thread.handed-off": (state, payload) => {
        state.handoffIds = [...state.handoffIds, payload.newThreadId];
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
            masked: 0,
            summary: null,
            summaryUnavailable: payload.summaryUnavailable,
            trigger: payload.trigger,
            generation: payload.generation,
        });
        state.compactionCount += Number(COMPACTIONS.has(payload.trigger));
    },
    "thread.context-summarized": summarize,
    "thread.stretch-summarized": summarize,
    "thread.context-discarded": discard,
    "thread.context-masked": discard,
    "thread.turn-started": (state, payload, envelope) => {
        state.turnIndex.set(payload.turnId, state.turns.length);
        state.turns.push({
            id: payload.turnId, status: "running", startedAt: envelope.occurredAt, completedAt: null, error: null,
        });
        state.entries.set(payload.turnId, []);
        state.queueHold = null;
    },
    "thread.turn-retried": (state, payload) => {
        changeTurn(state, payload.turnId, { status: "running", completedAt: null, error: null });
        state.queueHold = null;
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
    "thread.prompt-queued": (state, payload) => {
        state.queueHold = state.queue.length ? state.queueHold : null;
        state.queue = [...state.queue, { id: payload.promptId, input: payload.input }];
    },
    "thread.prompt-edited": (state, payload) => {
        state.queue = state.queue.map((one) => (one.id === payload.promptId ? { ...one, input: payload.input } : one));
    },
    "thread.prompts-reordered": (state, payload) => {
        const place = new Map(payload.promptIds.map((/** @type {string} */ id, /** @type {number} */ at) => [id, at]));
        state.queue = state.queue.toSorted((one, other) => (place.get(one.id) ?? Infinity) - (place.get(other.id) ?? Infinity) || 0);
    },
    "thread.prompt-withdrawn": leaveQueue,
    "thread.prompt-sent": leaveQueue,
    "thread.queue-held": (state, payload) => {
        state.queueHold = { reason: payload.reason, message: payload.message };
    },
    "thread.queue-released": (state) => {
        state.queueHold = null;
    },
    "thread.trim-undone": becomeStale,
    "thread.trim-redone": becomeStale,
    "thread.turns-reverted": becomeStale,
    "thread.reverted": becomeStale,
};

/** @type {Fold} */
function leaveQueue(state, payload) {
    state.queue = state.queue.filter((one) => one.id !== payload.promptId);
}

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
    if (payload.kind === "message" && payload.extent !== "part") {
        countLateMessage(state, index);
    }
    const known = state.entries.get(payload.turnId);
    if (!known && index < state.loadedFrom) {
        return; // it comes with its page
    }
    const place = known?.findIndex((one) => one.id === payload.entryId) ?? -1;
    const part = known?.[place];
    if ((part !== undefined) !== (payload.extent === "rest")) {
        return; // it came with a page already, or its part comes with one that is not loaded yet
    }
    const { entryId: id, turnId, kind, role, text, detail } = payload;
    const entry = { id, turnId, kind, role, text, detail, createdAt: part?.createdAt ?? envelope.occurredAt, discardId: null, isMasked: false };
    // A new list, so that a view of the turn sees that it changed.
    state.entries.set(turnId, part ? (known ?? []).with(place, entry) : [...(known ?? []), entry]);
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
 * @param {ThreadState} state
 * @param {any} payload
 */
function summarize(state, payload) {
    const point = state.points.findLast((one) => one.id === payload.trimPointId);
    if (point) {
        point.summary = payload.summary;
        point.summaryUnavailable = false;
        point.place = payload.turnsBefore ?? point.place; // a stretch's summary stands at its turns
        state.compactionCount += Number(point.kind === "discard"); // a trim point has counted by its trigger
    }
}

/**
 * Takes entries out of the context, or masks their output.
 * @param {ThreadState} state
 * @param {any} payload
 */
function discard(state, payload) {
    const masked = payload.maskedEntryIds ?? [];
    state.points.push({
        id: payload.trimPointId,
        kind: "discard",
        createdAt: payload.createdAt,
        place: state.turns.length,
        count: payload.entryIds.length,
        masked: masked.length,
        summary: null,
        summaryUnavailable: false,
        trigger: payload.trigger,
        generation: payload.generation,
    });
    mark(state, new Set(payload.entryIds), { discardId: payload.trimPointId });
    mark(state, new Set(masked), { isMasked: true });
}

/**
 * Entries are named by their id where that means one alone, else with their turn's id before it.
 * @param {ThreadState} state
 * @param {Set<string>} names
 * @param {Partial<Entry>} change
 */
function mark(state, names, change) {
    for (const turn of state.turns.slice(Math.max(activeFrom(state), state.turnsFrom))) {
        const entries = state.entries.get(turn.id);
        if (entries?.some((entry) => isNamed(entry, names))) {
            state.entries.set(turn.id, entries.map((entry) => (isNamed(entry, names) ? { ...entry, ...change } : entry)));
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
