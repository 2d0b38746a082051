/**
 * The threads of other machines, where the daemon belongs to a fleet: asked for again and again, as long as someone looks.
 *
 * @import {Signal} from "../vendor.js"
 * @import {FleetEventsResult, FleetOverview, ThreadOnHost} from "../protocol.js"
 * @import {Session} from "./session.js"
 */
import { Refusal } from "../link/peer.js";
import { signal } from "../vendor.js";

const REFRESH_MS = 10_000;

export class Fleet {
    /** @param {Session} session */
    constructor(session) {
        this._session = session;
        /** @type {Signal<FleetOverview | null>} null while there is no fleet, as far as is known */
        this.overview = signal(null);
        /** @type {Signal<string>} why the fleet cannot be read */
        this.problem = signal("");
        /** @type {Signal<{host: string, id: string} | null>} the thread that is shown */
        this.shown = signal(null);
        this._timer = 0;
        document.addEventListener("visibilitychange", () => this._again(0));
    }

    /** Asks for machines and threads now, and from then on. */
    async refresh() {
        clearTimeout(this._timer);
        try {
            /** @type {FleetOverview} */
            const overview = await this._session.request("fleet/overview");
            this.problem.value = "";
            this.overview.value = overview.person === null ? null : overview;
            if (overview.person === null) {
                return;
            }
        } catch (error) {
            if (error instanceof Refusal) {
                this.problem.value = error.message; // else the connection is lost, and the page says so
            }
        }
        this._again(REFRESH_MS);
    }

    /** @param {number} afterMs */
    _again(afterMs) {
        clearTimeout(this._timer);
        const isWanted = this.overview.value !== null || this.problem.value !== "";
        if (isWanted && !document.hidden && this._session.state.value === "open") {
            this._timer = setTimeout(() => this.refresh(), afterMs);
        }
    }

    /** @returns {ThreadOnHost | undefined} */
    get shownThread() {
        const shown = this.shown.value;
        return this.overview.value?.threads.find((one) => one.host === shown?.host && one.id === shown.id);
    }

    /**
     * @param {{host: string, id: string}} thread
     * @returns {Promise<FleetEventsResult>}
     */
    events({ host, id }) {
        return this._session.request("fleet/events", { host, threadId: id, limit: 500 });
    }
}
