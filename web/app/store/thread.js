/**
 * One thread that the page follows: its state, what is live in it, and its pages of history.
 *
 * @import {Signal} from "../vendor.js"
 * @import {ThreadState} from "../model/shapes.js"
 * @import {Settings} from "../model/settings.js"
 * @import {Session} from "./session.js"
 * @import {ContextStatus, EventEnvelope, TimelinePage} from "../protocol.js"
 */
import { FOLLOW, following } from "../link/ahead.js";
import { apply } from "../model/fold.js";
import { catchUp, forget, note, nothingLive } from "../model/live.js";
import { settingsOf } from "../model/settings.js";
import { addOlder, addTurns, blockerOf, stateOf } from "../model/state.js";
import { signal } from "../vendor.js";
import { Stop } from "./stop.js";

const LARGEST_PAGE = 1000;
const PAGE = 400; // what is drawn of it in one go has to fit between two frames
const JOIN_AFTER_MS = 600;
const MOST_FAILURES = 2; // the first may be of a cursor that no longer holds
const STARTS_WORK = new Set(["thread.turn-requested", "thread.turn-started", "thread.request-opened"]);

/** A request of the agent that a person may answer.
 * @typedef {{id: string | number, method: string, params: any}} Question
 */

export class Thread {
    /**
     * @param {Session} session
     * @param {string} id
     */
    constructor(session, id) {
        this._session = session;
        this.id = id;
        /** @type {Signal<number>} counts changes: the state is changed in place, because it can be large */
        this.version = signal(0);
        /** @type {ThreadState | null} */
        this.state = null;
        this.stop = new Stop(session, this);
        this.live = nothingLive();
        this.liveVersion = signal(0);
        /** @type {Signal<ContextStatus | null>} */
        this.context = signal(null);
        /** @type {Signal<ReadonlySet<string>>} trim points whose section is open */
        this.expanded = signal(new Set());
        /** @type {Signal<Question[]>} */
        this.questions = signal([]);
        /** @type {Signal<Settings | null>} null until they are known */
        this.settings = signal(null);
        /** @type {Signal<number>} counts changes of what is pinned */
        this.pinsVersion = signal(0);
        /** @type {Signal<string>} why the thread cannot be shown */
        this.problem = signal("");
        /** @type {Promise<void> | null} */
        this._followed = null;
        /** @type {Promise<boolean> | null} the page of history that is being loaded */
        this._older = null;
        /** @type {string | null} */
        this._cursor = null;
        this._isJoined = false;
        this._hasLeft = false;
        this._isFrameAsked = false;
    }

    /** Follows the thread from where the page is, after a connection was made. */
    follow() {
        this._followed = this._follow();
        return this._followed;
    }

    async _follow() {
        this._isJoined = false;
        this.questions.value = [];
        this.live = nothingLive();
        this.liveVersion.value += 1;
        try {
            await this._subscribe(this.state?.stale ? null : (this.state?.sequence ?? null));
            this.problem.value = "";
        } catch (error) {
            this.problem.value = /** @type {Error} */ (error).message;
            return;
        }
        this.stop.look();
        const hasJoined = this.isBusy && await this.join().then(() => true, () => false);
        if (!hasJoined) {
            setTimeout(() => this._joinIfStillOpen(), JOIN_AFTER_MS);
        }
    }

    /** Settings come with it. It makes Codex load the thread, which is not worth it where a person only passes by. */
    _joinIfStillOpen() {
        if (!this._hasLeft && !this.state?.readOnly) {
            this.join().catch(() => {});
        }
    }

    /** Follows it no longer. */
    leave() {
        this._hasLeft = true;
        this._session.request("orchestration/unsubscribeThread", { threadId: this.id }).catch(() => {});
        if (this._isJoined) {
            this._session.request("thread/unsubscribe", { threadId: this.id }).catch(() => {});
        }
    }

    /** Takes part in the thread: from then on Codex's deltas and questions come here too. */
    async join() {
        if (this._isJoined || this.state?.archived) {
            return;
        }
        this._isJoined = true;
        try {
            const answer = await this._session.request("thread/resume", { threadId: this.id, excludeTurns: true });
            this.settings.value = settingsOf(answer);
        } catch (error) {
            this._isJoined = false;
            throw error;
        }
        if (this.isBusy) {
            await this._catchUp();
        }
    }

    /** Asks what the running turn has said before the page took part. */
    async _catchUp() {
        const answer = await this._session.request("orchestration/snapshot", { threadId: this.id, turns: 1 });
        catchUp(this.live, answer.live ?? []);
        this.liveVersion.value += 1;
    }

    /**
     * Notes that the page is subscribed already, as the client that starts a thread is.
     * @param {any} answer what the thread was started with
     */
    joined(answer) {
        this._isJoined = true;
        this.settings.value = settingsOf(answer);
    }

    /** Returns whether something is under way. */
    get isBusy() {
        const state = this.state;
        return state !== null && blockerOf(state) !== null;
    }

    /** Loads the next page of history; returns whether it came. */
    loadOlder() {
        this._older ??= this._loadOlder().finally(() => {
            this._older = null;
        });
        return this._older;
    }

    /**
     * @param {number} [limit]
     * @param {boolean} [isQuiet] whether it is drawn later
     */
    async _loadOlder(limit = PAGE, isQuiet = false) {
        if (this.state === null || this.state.isComplete) {
            return false;
        }
        try {
            const { state } = this;
            const page = await this._session.request("timeline/read", {
                threadId: this.id, expand: "all", cursor: this._cursor, limit,
            });
            await this._take(state, page, isQuiet);
        } catch {
            this._cursor = null; // it was of another view of the thread; what is known already is skipped
            return false;
        }
        return true;
    }

    /**
     * Loads history back to a turn; returns whether the turn is there.
     * @param {string} turnId
     */
    async loadBackTo(turnId) {
        await this._followed;
        for (let failures = 0; !this._hasLoaded(turnId) && failures < MOST_FAILURES; ) {
            failures = (await this.loadOlder()) ? 0 : failures + 1;
        }
        return this._hasLoaded(turnId);
    }

    /**
     * Loads history back to the turn at a place, and draws it when all is there.
     * @param {number} place
     * @param {() => void} onPage
     */
    async loadBackToPlace(place, onPage) {
        await this._followed;
        await this._older;
        const { state } = this;
        this._older = this._loadBack(place, onPage).finally(() => {
            this._older = null;
        });
        await this._older;
        if (state === this.state) {
            this.version.value += 1;
        }
    }

    /**
     * @param {number} place
     * @param {() => void} onPage
     */
    async _loadBack(place, onPage) {
        // Of the oldest turn that is loaded not all entries may be there.
        for (let failures = 0; failures < MOST_FAILURES && !this._hasLeft; ) {
            const { state } = this;
            if (state === null || state.isComplete || state.loadedFrom < place) {
                return true;
            }
            failures = (await this._loadOlder(LARGEST_PAGE, true)) ? 0 : failures + 1;
            onPage();
        }
        return false;
    }

    /** @param {string} turnId */
    _hasLoaded(turnId) {
        const index = this.state?.turnIndex.get(turnId);
        // Of the oldest turn that is loaded not all entries may be there.
        return index !== undefined && this.state !== null && (this.state.isComplete || index > this.state.loadedFrom);
    }

    /** @param {EventEnvelope} envelope */
    onEvent(envelope) {
        if (this.state === null || !apply(this.state, envelope)) {
            return;
        }
        if (envelope.type === "thread.entry-recorded" && forget(this.live, envelope.payload.entryId)) {
            this.liveVersion.value += 1;
        }
        if (envelope.type === "thread.trim-point-created") {
            this._cursor = null;
        }
        if (STARTS_WORK.has(envelope.type)) {
            this.join().catch(() => {});
        }
        if (envelope.type.includes("pin")) {
            this.pinsVersion.value += 1;
        }
        this.stop.look();
        if (this.state.stale) {
            this.follow();
        }
        this.version.value += 1;
    }

    /**
     * @param {string} method
     * @param {any} params
     */
    onNotification(method, params) {
        if (method === "thread/settings/updated") {
            this.settings.value = settingsOf(params.threadSettings ?? {});
        } else if (method === "serverRequest/resolved") {
            this.questions.value = this.questions.value.filter((one) => one.id !== params.requestId);
        } else if (note(this.live, method, params)) {
            this._showSoon();
        }
    }

    /** @param {Question} question */
    ask(question) {
        const others = this.questions.value.filter((one) => one.id !== question.id);
        this.questions.value = [...others, question];
    }

    /** @param {string} pointId */
    toggle(pointId) {
        const expanded = new Set(this.expanded.value);
        if (!expanded.delete(pointId)) {
            expanded.add(pointId);
        }
        this.expanded.value = expanded;
    }

    /** @param {number | null} afterSequence */
    async _subscribe(afterSequence) {
        const answer = await this._session.request(FOLLOW, following(this.id, afterSequence));
        if (answer.mode === "replay") {
            return;
        }
        this.state = stateOf(answer.thread);
        this.context.value = answer.thread.context;
        await this._take(this.state, answer.timeline);
    }

    /**
     * Takes a page of history in.
     * @param {ThreadState} state
     * @param {TimelinePage} page
     * @param {boolean} [isQuiet] whether it is drawn later
     */
    async _take(state, page, isQuiet = false) {
        const oldest = /** @type {any[]} */ (page.entries).find((entry) => entry.turnId)?.turnId;
        while (state.turnsFrom > 0 && (page.nextCursor === null || (oldest && !state.turnIndex.has(oldest)))) {
            await this._readTurns(state);
        }
        this._cursor = page.nextCursor;
        addOlder(state, page.entries, page.nextCursor === null);
        this.version.value += isQuiet ? 0 : 1;
    }

    /**
     * Loads the turns before those that are known.
     * @param {ThreadState} state
     */
    async _readTurns(state) {
        const answer = await this._session.request("orchestration/snapshot", {
            threadId: this.id, turns: PAGE, beforeTurn: state.turnsFrom,
        });
        addTurns(state, answer.thread);
    }

    /** Deltas may come ten thousand times a second; a screen shows sixty of them. */
    _showSoon() {
        if (!this._isFrameAsked) {
            this._isFrameAsked = true;
            const show = () => {
                this._isFrameAsked = false;
                this.liveVersion.value += 1;
            };
            if (document.hidden) {
                setTimeout(show, 500); // no frames are drawn then
            } else {
                requestAnimationFrame(show);
            }
        }
    }
}
