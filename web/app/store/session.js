/**
 * The page's connection: shakes hands, hands messages out, and tells when it is there and when it is not.
 *
 * @import {Carrier} from "../link/lines.js"
 * @import {Listener} from "../link/peer.js"
 * @import {Refusal} from "../link/peer.js"
 */
import { HELLO } from "../link/ahead.js";
import { connect } from "../link/lines.js";
import { Disconnected, Peer } from "../link/peer.js";
import { signal } from "../vendor.js";

// A network that is gone says nothing: without an answer for this long the connection is given up.
const BEAT_MS = 10_000;
const PATIENCE_MS = 8_000;

export class Session {
    /** @param {Listener & {onReached: () => void, onReady: () => void}} listener `onReached` before the daemon has greeted */
    constructor(listener) {
        this._listener = listener;
        /** @type {Peer | null} */
        this._peer = null;
        /** @type {import("../vendor.js").Signal<"connecting" | "open" | "lost">} */
        this.state = signal("connecting");
        this.isLoggedOut = signal(false);
        /** @type {import("../vendor.js").Signal<Refusal | null>} why the daemon would not have this page */
        this.refusal = signal(null);
        this._heardAt = 0;
        this._beats = 0;
    }

    /** @param {Carrier} carrier */
    start(carrier) {
        this._link = connect(carrier, {
            onOpen: (send) => this._open(send),
            onLine: (line) => {
                this._heardAt = Date.now();
                this._peer?.receive(line);
            },
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
     * Asks for what changes nothing. It waits for a connection, and asks again where one was lost before the answer.
     * @param {string} method
     * @param {object} [params]
     * @returns {Promise<any>}
     */
    async read(method, params = {}) {
        for (;;) {
            await this._opened();
            try {
                return await this.request(method, params);
            } catch (error) {
                if (!(error instanceof Disconnected)) {
                    throw error;
                }
            }
        }
    }

    /** Waits until there is a connection. */
    _opened() {
        return new Promise((resolve) => {
            const stop = this.state.subscribe((state) => {
                if (state === "open") {
                    resolve(null);
                    queueMicrotask(() => stop());
                }
            });
        });
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
            const greeted = peer.request("initialize", HELLO);
            peer.notify("initialized");
            this._listener.onReached(); // what is asked now is answered behind it, without another round trip
            await greeted;
        } catch (error) {
            if (!(error instanceof Disconnected)) {
                this.refusal.value = /** @type {Refusal} */ (error);
            }
            return;
        }
        this.refusal.value = null;
        this.state.value = "open";
        clearInterval(this._beats);
        this._beats = setInterval(() => this._beat(peer), BEAT_MS);
        this.request("orchestration/subscribeNotices").catch(() => {}); // a daemon of an earlier version has none
        this._listener.onReady();
    }

    /**
     * Asks for a sign of life where there was none for a while.
     * @param {Peer} peer
     */
    _beat(peer) {
        const askedAt = Date.now();
        if (peer !== this._peer || askedAt - this._heardAt < BEAT_MS) {
            return;
        }
        peer.request("commands/complete", { text: "" }).catch(() => {});
        setTimeout(() => {
            if (peer === this._peer && this._heardAt < askedAt) {
                this._link?.giveUp();
            }
        }, PATIENCE_MS);
    }

    _close() {
        clearInterval(this._beats);
        this._peer?.close();
        this._peer = null;
        this.state.value = "lost";
    }
}
