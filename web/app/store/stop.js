/**
 * Stops what runs in a thread, and what was sent from here and is about to begin.
 *
 * @import {Signal} from "../vendor.js"
 * @import {Session} from "./session.js"
 * @import {Thread} from "./thread.js"
 */
import { isOperating, runningTurn } from "../model/state.js";
import { signal } from "../vendor.js";

export class Stop {
    /**
     * @param {Session} session
     * @param {Thread} thread
     */
    constructor(session, thread) {
        this._session = session;
        this._thread = thread;
        /** @type {Signal<"" | "expected" | "unwanted">} what is to become of what is about to begin */
        this.next = signal(/** @type {"" | "expected" | "unwanted"} */ (""));
    }

    /** Returns whether there is something that can be stopped. */
    get isPossible() {
        const { state } = this._thread;
        return this.next.value === "expected" || (state !== null && (runningTurn(state) !== null || state.operation?.phase === "compacting"));
    }

    /** Notes that something was sent, which begins a turn or a compaction. */
    expect() {
        this.next.value = this._hasBegun() ? "" : "expected";
    }

    /** Notes that nothing comes of it any more. */
    forget() {
        this.next.value = "";
    }

    /** Stops what runs; what is about to begin is stopped as soon as it has begun. */
    async now() {
        const threadId = this._thread.id;
        const { state } = this._thread;
        const turn = state && runningTurn(state);
        if (turn) {
            await this._session.request("turn/interrupt", { threadId, turnId: turn.id });
        } else if (state?.operation && isOperating(state)) {
            await this._session.request("commands/cancel", { operationId: state.operation.id });
        } else if (this.next.value === "expected") {
            this.next.value = "unwanted";
        }
    }

    /** Looks whether that has begun. Where the queue waits for a person nothing does. */
    look() {
        const hasBegun = this._hasBegun();
        if (this.next.value === "" || !(hasBegun || this._thread.state?.queueHold)) {
            return;
        }
        const isUnwanted = this.next.value === "unwanted";
        this.next.value = "";
        if (isUnwanted && hasBegun) {
            this.now().catch(() => {}); // it has ended by itself
        }
    }

    _hasBegun() {
        const { state } = this._thread;
        return state !== null && (runningTurn(state) !== null || isOperating(state));
    }
}
