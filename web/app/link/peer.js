/**
 * JSON-RPC over lines of text, whatever carries them.
 */

/** What the daemon refused, with its reason, hint and blocker. */
export class Refusal extends Error {
    /** @param {{code: number, message: string, data?: any}} error */
    constructor(error) {
        super(error.message);
        this.code = error.code;
        /** @type {string} */
        this.reason = error.data?.reason ?? "";
        /** @type {string} */
        this.hint = error.data?.hint ?? "";
        /** @type {{kind: string, id: string, since: string, detail: string} | null} */
        this.blocker = error.data?.blocker ?? null;
    }
}

/** The connection ended before the answer came. */
export class Disconnected extends Error {
    constructor() {
        super("The connection to the daemon was lost.");
    }
}

/**
 * @typedef {object} Listener
 * @property {(method: string, params: any) => void} onNotification
 * @property {(id: string | number, method: string, params: any) => void} onRequest
 */

export class Peer {
    /**
     * @param {(line: string) => void} send
     * @param {Listener} listener
     */
    constructor(send, listener) {
        this._send = send;
        this._listener = listener;
        this._lastId = 0;
        /** @type {Map<number, {resolve: (result: any) => void, reject: (error: Error) => void}>} */
        this._waiting = new Map();
    }

    /**
     * Asks and returns the result; fails with `Refusal` or `Disconnected`.
     * @param {string} method
     * @param {object} params
     * @returns {Promise<any>}
     */
    request(method, params) {
        this._lastId += 1;
        const id = this._lastId;
        return new Promise((resolve, reject) => {
            this._waiting.set(id, { resolve, reject });
            this._send(JSON.stringify({ id, method, params }));
        });
    }

    /**
     * @param {string} method
     * @param {object} [params]
     */
    notify(method, params) {
        this._send(JSON.stringify(params ? { method, params } : { method }));
    }

    /**
     * Answers a request of the other side.
     * @param {string | number} id
     * @param {object} result
     */
    answer(id, result) {
        this._send(JSON.stringify({ id, result }));
    }

    /**
     * Leaves a request of the other side to other clients.
     * @param {string | number} id
     */
    decline(id) {
        this._send(JSON.stringify({ id, error: { code: -32601, message: "this page does not answer this" } }));
    }

    /**
     * Takes one line of the other side in.
     * @param {string} line
     */
    receive(line) {
        const message = JSON.parse(line);
        if (message.method === undefined) {
            this._settle(message);
        } else if (message.id === undefined) {
            this._listener.onNotification(message.method, message.params ?? {});
        } else {
            this._listener.onRequest(message.id, message.method, message.params ?? {});
        }
    }

    /** Fails whatever still waits. */
    close() {
        for (const { reject } of this._waiting.values()) {
            reject(new Disconnected());
        }
        this._waiting.clear();
    }

    /** @param {any} message */
    _settle(message) {
        const waiting = this._waiting.get(message.id);
        this._waiting.delete(message.id);
        if (message.error) {
            waiting?.reject(new Refusal(message.error));
        } else {
            waiting?.resolve(message.result);
        }
    }
}
