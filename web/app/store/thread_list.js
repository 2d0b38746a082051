/**
 * All threads in short; those that have changed are asked for anew.
 *
 * @import {Signal} from "../vendor.js"
 * @import {ThreadOverview} from "../protocol.js"
 * @import {Session} from "./session.js"
 */
import { isBehind, merged } from "../model/threads.js";
import { signal } from "../vendor.js";

const REFRESH_AFTER_MS = 150; // once for many changes
// A long list costs much, and need not be as new.
const MANY = 300;
const REFRESH_MANY_MS = 3000;
const UNSETTLED_MS = 1000;

export class ThreadList {
    /**
     * @param {Session} session
     */
    constructor(session) {
        this._session = session;
        /** @type {Signal<ThreadOverview[] | null>} */
        this.threads = signal(null);
        this._timer = 0;
        this._askedAt = 0;
        this._isAllWanted = true;
        /** @type {Set<string>} threads that are to be asked for, where not all are */
        this._changed = new Set();
        this._asked = Promise.resolve(); // one after the other, so that no older answer comes later
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
        this.refreshSoon(params.threadId ?? params.thread?.id);
    }

    /** @param {string} [id] the only thread that has changed, as far as is known */
    refreshSoon(id) {
        if (id) {
            this._changed.add(id);
        } else {
            this._isAllWanted = true;
        }
        if (this._timer) {
            return; // so that a thread that changes all the time does not put it off for ever
        }
        this._refreshIn(REFRESH_AFTER_MS);
    }

    /** @param {number} least */
    _refreshIn(least) {
        const isLong = this._isAllWanted && (this.threads.value?.length ?? 0) > MANY;
        const pause = Math.max(least, isLong ? this._askedAt + REFRESH_MANY_MS - Date.now() : 0);
        clearTimeout(this._timer);
        this._timer = setTimeout(() => {
            this._timer = 0;
            this._ask();
        }, pause);
    }

    /** Asks for all threads. */
    refresh() {
        this._isAllWanted = true;
        return this._ask();
    }

    _ask() {
        this._asked = this._asked.then(() => this._read());
        return this._asked;
    }

    async _read() {
        const before = this.threads.value;
        const threadIds = this._isAllWanted || before === null ? undefined : [...this._changed];
        this._askedAt = threadIds ? this._askedAt : Date.now();
        this._isAllWanted = false;
        this._changed.clear();
        if (threadIds?.length === 0) {
            return; // the answer before this one had them
        }
        try {
            const answer = await this._session.request("orchestration/snapshot", { threadIds });
            const threads = threadIds ? merged(this.threads.value ?? [], answer.threads, threadIds) : answer.threads;
            this.threads.value = threads;
            const behind = threads.filter((/** @type {ThreadOverview} */ one) => isBehind(one, this._said.get(one.id)));
            behind.forEach((/** @type {ThreadOverview} */ one) => this._changed.add(one.id));
            if (!this._timer && behind.length > 0) {
                this._refreshIn(UNSETTLED_MS);
            }
        } catch {
            this._isAllWanted = true; // it is asked again when the connection is back
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
