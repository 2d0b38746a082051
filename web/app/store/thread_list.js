/**
 * All threads in short, asked for anew when something has changed.
 *
 * @import {Signal} from "../vendor.js"
 * @import {ThreadOverview} from "../protocol.js"
 * @import {Notifier} from "./notifier.js"
 * @import {Session} from "./session.js"
 */
import { changesIn, isBehind, titleOf } from "../model/threads.js";
import { signal } from "../vendor.js";

const REFRESH_AFTER_MS = 150; // once for many changes
// A long list costs much, and need not be as new.
const MANY = 300;
const REFRESH_MANY_MS = 3000;
const UNSETTLED_MS = 1000;

export class ThreadList {
    /**
     * @param {Session} session
     * @param {Notifier} notifier
     */
    constructor(session, notifier) {
        this._session = session;
        this._notifier = notifier;
        /** @type {Signal<ThreadOverview[] | null>} */
        this.threads = signal(null);
        this._timer = 0;
        this._askedAt = 0;
        this._asked = 0;
        this._answered = 0;
        /** @type {Map<string, any>} what Codex said last of each thread */
        this._said = new Map();
    }

    /**
     * Notes what Codex says about a thread.
     * @param {string} method
     * @param {any} params
     */
    note(method, params) {
        if (method === "thread/status/changed") {
            this._said.set(params.threadId, params.status);
        }
        this.refreshSoon();
    }

    refreshSoon() {
        if (this._timer) {
            return; // so that a thread that changes all the time does not put it off for ever
        }
        this._refreshIn(REFRESH_AFTER_MS);
    }

    /** @param {number} least */
    _refreshIn(least) {
        const isLong = (this.threads.value?.length ?? 0) > MANY;
        const pause = Math.max(least, isLong ? this._askedAt + REFRESH_MANY_MS - Date.now() : 0);
        clearTimeout(this._timer);
        this._timer = setTimeout(() => {
            this._timer = 0;
            this.refresh();
        }, pause);
    }

    async refresh() {
        this._askedAt = Date.now();
        const number = ++this._asked;
        try {
            const { threads } = await this._session.request("orchestration/snapshot");
            if (number < this._answered) {
                return; // a newer list was there before
            }
            this._answered = number;
            const { asking, done } = changesIn(this.threads.value ?? threads, threads);
            this.threads.value = threads;
            if (!this._timer && threads.some((/** @type {ThreadOverview} */ one) => isBehind(one, this._said.get(one.id)))) {
                this._refreshIn(UNSETTLED_MS);
            }
            for (const [what, some] of /** @type {const} */ ([["The agent asks", asking], ["The agent is done", done]])) {
                some.forEach((one) => this._notifier.tell(what, one.id, titleOf(one)));
            }
        } catch {
            return; // it is asked again when the connection is back
        }
    }

    /**
     * Changes what is known of one thread, without asking.
     * @param {string} id
     * @param {Partial<ThreadOverview>} change
     */
    change(id, change) {
        this.threads.value = this.threads.value?.map((one) => (one.id === id ? { ...one, ...change } : one)) ?? null;
    }
}
