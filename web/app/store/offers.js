/**
 * What the daemon and its Codex offer: slash commands, models.
 *
 * @import {Signal} from "../vendor.js"
 * @import {Model} from "../model/settings.js"
 * @import {Session} from "./session.js"
 */
import { modelsOf } from "../model/settings.js";
import { signal } from "../vendor.js";

export class Offers {
    /** @param {Session} session */
    constructor(session) {
        this._session = session;
        /** @type {Signal<ReadonlySet<string>>} names of commands */
        this.commands = signal(new Set());
        /** @type {Signal<Model[]>} */
        this.models = signal([]);
    }

    /** Asks for them; where there is no answer they are asked for again with the next connection. */
    async read() {
        const ask = (/** @type {string} */ method) => this._session.request(method).catch(() => null);
        const [commands, models] = await Promise.all([ask("commands/list"), ask("model/list")]);
        if (commands) {
            this.commands.value = new Set(commands.commands.map((/** @type {{name: string}} */ one) => one.name.replace(/^\//, "")));
        }
        if (models) {
            this.models.value = modelsOf(models);
        }
    }
}
