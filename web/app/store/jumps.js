/**
 * Brings what was looked for into sight.
 *
 * @import {Signal} from "../vendor.js"
 * @import {App} from "./app.js"
 * @import {Thread} from "./thread.js"
 */
import { hidingPoint } from "../model/timeline.js";
import { signal } from "../vendor.js";

const NO_ROOM_BESIDE = "(max-width: 50rem)"; // as in app.css: the panel covers the conversation

/** A turn that was looked for, and the entry of it; `count` tells one time from another, `isGoal` that the keys are to go there.
 * @typedef {{key: string, entryId: string, count: number, isGoal: boolean}} Jump
 */

export class Jumps {
    /** @param {App} app */
    constructor(app) {
        this._app = app;
        /** @type {Signal<Jump | null>} */
        this.jump = signal(null);
        this._count = 0;
    }

    /** Closes the panel where it covers the conversation. */
    uncover() {
        if (matchMedia(NO_ROOM_BESIDE).matches) {
            this._app.panel.value = null;
        }
    }

    /**
     * Opens a thread where an entry of it is; loads what is older as far as that.
     * @param {string} threadId
     * @param {string} turnId
     * @param {string} entryId
     */
    async reveal(threadId, turnId, entryId) {
        const app = this._app;
        app.select(threadId);
        const thread = app.open.value;
        this.uncover();
        if (thread && (await thread.loadBackTo(turnId)) && app.open.value === thread) {
            this._jumpTo(thread, turnId, entryId);
        }
    }

    /**
     * Brings a turn into sight; loads what is older as far as that.
     * @param {number} number
     * @param {boolean} [isGoal] whether the keys go there, too
     */
    async toTurn(number, isGoal = true) {
        const app = this._app;
        const thread = app.open.value;
        const state = thread?.state;
        if (!thread || !state?.turns.length) {
            return;
        }
        this.uncover();
        const say = () => {
            app.progress.value = `Reading back to turn ${number}: at turn ${state.loadedFrom + 1}`;
        };
        await thread.loadBackToPlace(number - 1, say);
        app.progress.value = "";
        const turn = thread.state?.turns[number - 1];
        if (turn && app.open.value === thread) {
            this._jumpTo(thread, turn.id, "", isGoal);
        }
    }

    /** Brings the end of the open thread into sight. */
    toEnd() {
        this._app.sent.value += 1;
    }

    /**
     * Brings an entry into sight, and opens the section that it is hidden in.
     * @param {Thread} thread
     * @param {string} turnId
     * @param {string} entryId
     * @param {boolean} [isGoal]
     */
    _jumpTo(thread, turnId, entryId, isGoal = false) {
        const hiding = thread.state && hidingPoint(thread.state, turnId);
        if (hiding && !thread.expanded.value.has(hiding.id)) {
            thread.toggle(hiding.id);
        }
        this._count += 1;
        this.jump.value = { key: turnId, entryId, count: this._count, isGoal };
    }
}
