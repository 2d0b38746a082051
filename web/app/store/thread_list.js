/**
 * All threads in short, asked for anew when something has changed.
 *
 * @import {Signal} from "../vendor.js"
 * @import {ThreadOverview} from "../protocol.js"
 * @import {Notifier} from "./notifier.js"
 * @import {Session} from "./session.js"
 */
import { changesIn, titleOf } from "../model/threads.js";
import { signal } from "../vendor.js";

const REFRESH_AFTER_MS = 150; // once for many changes
// A long list costs much, and need not be as new.
const MANY = 300;
const REFRESH_MANY_MS = 3000;

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
    }

    refreshSoon() {
        clearTimeout(this._timer);
        const isLong = (this.threads.value?.length ?? 0) > MANY;
        const pause = isLong ? this._askedAt + REFRESH_MANY_MS - Date.now() : 0;
        this._timer = setTimeout(() => this.refresh(), Math.max(REFRESH_AFTER_MS, pause));
    }

    async refresh() {
        this._askedAt = Date.now();
        try {
            const { threads } = await this._session.request("orchestration/snapshot");
            const { asking, done } = changesIn(this.threads.value ?? threads, threads);
            this.threads.value = threads;
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
