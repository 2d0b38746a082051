/**
 * The shape of what the page knows of a thread. `state.js` makes it, `fold.js` applies events to it.
 *
 * Entries are kept by turn, because a late entry belongs to the end of its turn. Boundaries are kept as numbers of
 * turns: everything before turn number `place` left the context.
 */
import type { PendingRequest, ThreadOperation } from "../protocol.js";

export interface Entry {
    id: string;
    turnId: string;
    kind: "message" | "activity";
    /** user | assistant for messages, the type of Codex's item for activities */
    role: string;
    text: string;
    createdAt: string;
    /** Codex's own item, where the text is not all */
    detail: any;
    /** the discard that took it out of the context */
    discardId: string | null;
    /** whether the agent is sent one line in the place of its output */
    isMasked: boolean;
}

export interface Turn {
    id: string;
    /** running | completed | interrupted | failed */
    status: string;
    startedAt: string;
    completedAt: string | null;
    error: string | null;
}

export interface Point {
    id: string;
    kind: "boundary" | "discard";
    createdAt: string;
    /** how many turns stand before it */
    place: number;
    /** messages that it pruned, or entries that it discarded */
    count: number;
    /** entries whose output it masked */
    masked: number;
    summary: string | null;
    summaryUnavailable: boolean;
    trigger: string;
    generation: number;
}

/** A prompt that waits; `input` is that of Codex's `turn/start`. */
export interface Queued {
    id: string;
    input: any[];
}

export interface ThreadState {
    id: string;
    name: string | null;
    cwd: string;
    branchName: string | null;
    archived: boolean;
    createdAt: string;
    readOnly: string | null;
    /** the thread that it went on as */
    newThreadId: string | null;
    /** the thread that it was begun from, and those that handoffs of it began */
    parentId: string | null;
    handoffIds: string[];
    /** the last event that is in it */
    sequence: number;
    /** by number; those before `turnsFrom` are not known, and left out of the array */
    turns: Turn[];
    turnsFrom: number;
    /** of the turns that are known */
    turnIndex: Map<string, number>;
    /** by turn; of turns before `loadedFrom` there are none, or not all */
    entries: Map<string, Entry[]>;
    loadedFrom: number;
    /** every entry is loaded */
    isComplete: boolean;
    /** in the order in which they were made */
    points: Point[];
    session: { status: string; generation: number; reason: string };
    operation: ThreadOperation | null;
    pendingRequests: PendingRequest[];
    compactionCount: number;
    /** prompts that wait */
    queue: Queued[];
    /** why they are not sent at present */
    queueHold: { reason: string; message: string } | null;
    /** why a new snapshot is needed */
    stale: string | null;
}
