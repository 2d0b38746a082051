/**
 * The prompts of a person: sent at once, or queued while they have to wait.
 *
 * @import {Signal} from "../vendor.js"
 * @import {Session} from "./session.js"
 * @import {Thread} from "./thread.js"
 */
import { signal } from "../vendor.js";

/** @typedef {{text: string, images: string[]}} Prompt */

export class Prompts {
    /** @param {Session} session */
    constructor(session) {
        this._session = session;
        /** @type {Map<string, Signal<Prompt[]>>} */
        this._queues = new Map();
    }

    /** Prompts that wait.
     * @param {string} threadId
     */
    queueOf(threadId) {
        let queue = this._queues.get(threadId);
        if (!queue) {
            queue = signal(/** @type {Prompt[]} */ ([]));
            this._queues.set(threadId, queue);
        }
        return queue;
    }

    /**
     * Sends a prompt, or queues it while it has to wait.
     * @param {Thread} thread
     * @param {Prompt} prompt
     */
    async send(thread, prompt) {
        if (thread.holdsPrompts) {
            const queue = this.queueOf(thread.id);
            queue.value = [...queue.value, prompt];
            return;
        }
        await thread.join();
        const images = prompt.images.map((url) => ({ type: "image", url }));
        const text = prompt.text ? [{ type: "text", text: prompt.text, text_elements: [] }] : [];
        await this._session.request("turn/start", { threadId: thread.id, input: [...images, ...text] });
    }

    /**
     * Takes the next prompt out of the queue, if there is one and it need not wait.
     * @param {Thread} thread
     */
    takeQueued(thread) {
        const queue = this.queueOf(thread.id);
        const [next, ...rest] = queue.value;
        if (!next || thread.holdsPrompts) {
            return null;
        }
        queue.value = rest;
        return next;
    }
}
