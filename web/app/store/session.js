/**
 * The page's connection: shakes hands, hands messages out, and tells when it is there and when it is not.
 *
 * @import {Carrier} from "../link/lines.js"
 * @import {Listener} from "../link/peer.js"
 * @import {Refusal} from "../link/peer.js"
 */
import { connect } from "../link/lines.js";
import { Disconnected, Peer } from "../link/peer.js";
import { signal } from "../vendor.js";

const QUIET = ["rawResponseItem/completed", "rawResponse/completed", "turn/diff/updated", "account/rateLimits/updated"];

export class Session {
    /** @param {Listener & {onReady: () => void}} listener */
    constructor(listener) {
        this._listener = listener;
        /** @type {Peer | null} */
        this._peer = null;
        /** @type {import("../vendor.js").Signal<"connecting" | "open" | "lost">} */
        this.state = signal("connecting");
        this.isLoggedOut = signal(false);
        /** @type {import("../vendor.js").Signal<Refusal | null>} why the daemon would not have this page */
        this.refusal = signal(null);
    }

    /** @param {Carrier} carrier */
    start(carrier) {
        this._link = connect(carrier, {
            onOpen: (send) => this._open(send),
            onLine: (line) => this._peer?.receive(line),
            onClose: () => this._close(),
            onLoggedOut: () => {
                this.isLoggedOut.value = true;
            },
        });
    }

    /**
     * @param {string} method
     * @param {object} [params]
     * @returns {Promise<any>}
     */
    request(method, params = {}) {
        return this._peer ? this._peer.request(method, params) : Promise.reject(new Disconnected());
    }

    /**
     * @param {string | number} id
     * @param {object} result
     */
    answer(id, result) {
        this._peer?.answer(id, result);
    }

    /** @param {string | number} id */
    decline(id) {
        this._peer?.decline(id);
    }

    /** @param {(line: string) => void} send */
    async _open(send) {
        const peer = new Peer(send, this._listener);
        this.isLoggedOut.value = false;
        this._peer = peer;
        try {
            await peer.request("initialize", {
                clientInfo: { name: "trimpoint-web", title: "trimpoint", version: "1" },
                capabilities: { experimentalApi: true, optOutNotificationMethods: QUIET },
            });
        } catch (error) {
            if (!(error instanceof Disconnected)) {
                this.refusal.value = /** @type {Refusal} */ (error);
            }
            return;
        }
        this.refusal.value = null;
        peer.notify("initialized");
        this.state.value = "open";
        this._listener.onReady();
    }

    _close() {
        this._peer?.close();
        this._peer = null;
        this.state.value = "lost";
    }
}
