/**
 * The page's connection: shakes hands, hands messages out, and tells when it is there and when it is not.
 *
 * @import {Listener} from "../link/peer.js"
 */
import { Disconnected, Peer } from "../link/peer.js";
import { connect } from "../link/socket.js";
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
    }

    /** @param {string} url */
    start(url) {
        this._link = connect(url, {
            onOpen: (send) => this._open(send),
            onLine: (line) => this._peer?.receive(line),
            onClose: () => this._close(),
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
        this._peer = peer;
        try {
            await peer.request("initialize", {
                clientInfo: { name: "trimpoint-web", title: "trimpoint", version: "1" },
                capabilities: { experimentalApi: true, optOutNotificationMethods: QUIET },
            });
        } catch (error) {
            if (error instanceof Disconnected) {
                return;
            }
            throw error;
        }
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
