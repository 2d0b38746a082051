/**
 * The prompts of a person: sent at once, or queued while the thread is busy.
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

    /** Prompts that wait for the thread to be free.
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
     * Sends a prompt, or queues it while the thread is busy.
     * @param {Thread} thread
     * @param {Prompt} prompt
     */
    async send(thread, prompt) {
        if (thread.isBusy) {
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
     * Takes the next prompt out of the queue, if there is one and the thread is free.
     * @param {Thread} thread
     */
    takeQueued(thread) {
        const queue = this.queueOf(thread.id);
        const [next, ...rest] = queue.value;
        if (!next || thread.isBusy) {
            return null;
        }
        queue.value = rest;
        return next;
    }
}
