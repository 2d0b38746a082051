/**
 * What a person types: kept until the daemon has acknowledged it, and sent again when a connection was lost before that.
 *
 * The daemon carries out a command once, however often it is sent under its id.
 *
 * @import {Draft, Mode, Outgoing} from "../model/draft.js"
 * @import {Signal} from "../vendor.js"
 * @import {CommandOutcome} from "../protocol.js"
 * @import {Session} from "./session.js"
 * @import {Thread} from "./thread.js"
 */
import { Disconnected } from "../link/peer.js";
import { acknowledged, EMPTY, putBack, submitted, unsent } from "../model/draft.js";
import { runningTurn } from "../model/state.js";
import { signal } from "../vendor.js";
import { keep, keepImages, names, read, readImages } from "./kept.js";

const KEEP_AFTER_MS = 300; // a long text takes a while to be kept, and a person types fast

/**
 * @typedef {object} Teller
 * @property {(threadId: string, error: unknown) => void} onRefused
 * @property {(threadId: string, text: string, outcome: CommandOutcome) => void} onOutcome
 */

export class Prompts {
    /**
     * @param {Session} session
     * @param {Teller} teller
     */
    constructor(session, teller) {
        this._session = session;
        this._teller = teller;
        /** @type {Map<string, Signal<Draft>>} */
        this._drafts = new Map();
        /** @type {Set<string>} threads of which something is being sent */
        this._busy = new Set();
        /** @type {Map<string, () => void>} */
        this._begun = new Map();
        /** @type {Set<string>} prompts of this page that the agent has read */
        this._read = new Set();
        /** @type {Set<string>} threads whose draft has changed and is not kept yet */
        this._unkept = new Set();
        /** @type {Map<string, {text: string, images: string[]}>} what was drafted for a person who was typing */
        this._offered = new Map();
        this._timer = 0;
        addEventListener("pagehide", () => this.keep());
    }

    /**
     * Returns the draft of a thread, as it was left.
     * @param {string} threadId
     */
    draftOf(threadId) {
        let draft = this._drafts.get(threadId);
        if (!draft) {
            const kept = read(`draft ${threadId}`);
            const found = signal(/** @type {Draft} */ ({ ...EMPTY, text: kept?.text ?? "", pastes: kept?.pastes ?? [], sending: kept?.sending ?? [] }));
            this._drafts.set(threadId, found);
            if (kept?.hasImages) {
                readImages(threadId).then((images) => {
                    found.value = { ...found.value, images: [...images, ...found.value.images] };
                });
            }
            draft = found;
        }
        return draft;
    }

    /**
     * Changes the draft of a thread.
     * @param {string} threadId
     * @param {(draft: Draft) => Draft} change
     */
    change(threadId, change) {
        const draft = this.draftOf(threadId);
        const before = draft.value;
        const now = change(before);
        draft.value = now;
        this._unkept.add(threadId);
        if (now.images !== before.images || now.sending !== before.sending) {
            keepImages(threadId, [...now.sending.flatMap((one) => one.images), ...now.images]);
            this.keep();
        } else {
            clearTimeout(this._timer);
            this._timer = setTimeout(() => this.keep(), KEEP_AFTER_MS);
        }
        const offered = this._offered.get(threadId);
        if (offered && !now.text) {
            this._offered.delete(threadId);
            this.prepend(threadId, offered);
        }
    }

    /** Keeps what has changed. */
    keep() {
        for (const threadId of this._unkept) {
            const { text, images, pastes, sending: going, steered } = this.draftOf(threadId).value;
            const sending = [...steered, ...going]; // a page that comes sends it again: the daemon takes it once
            const isEmpty = !text && images.length === 0 && sending.length === 0;
            // An image is kept elsewhere, and with the others: what was on its way is put back.
            const bare = sending.filter((one) => one.images.length === 0);
            const hasImages = images.length > 0 || bare.length < sending.length;
            keep(`draft ${threadId}`, isEmpty ? null : { text, pastes, sending: bare, hasImages });
        }
        this._unkept.clear();
    }

    /**
     * Sends what was typed for a thread.
     * @param {Thread} thread
     * @param {Mode} mode
     */
    submit(thread, mode) {
        const draft = this.draftOf(thread.id).value;
        if (!unsent(draft) && draft.images.length === 0) {
            return;
        }
        const turn = mode === "steer" && thread.state ? runningTurn(thread.state)?.id : null;
        this.change(thread.id, (now) => submitted(now, crypto.randomUUID(), mode, turn));
        this._send(thread.id);
    }

    /**
     * Sends a prompt that does not stand in the box.
     * @param {string} threadId
     * @param {string} text
     * @param {string[]} images
     */
    again(threadId, text, images) {
        const outgoing = { id: crypto.randomUUID(), mode: /** @type {const} */ ("prompt"), text, images };
        this.change(threadId, (now) => ({ ...now, sending: [...now.sending, outgoing] }));
        this._send(threadId);
    }

    /**
     * Puts a text and images into the box, before what stands there.
     * @param {string} threadId
     * @param {{text: string, images: string[]}} said
     */
    prepend(threadId, said) {
        this.change(threadId, (draft) => putBack(draft, { id: "", mode: "prompt", ...said }));
    }

    /**
     * Puts what is on its way back into the box: it is not sent any more, unless the daemon has it already.
     * @param {string} threadId
     */
    takeBack(threadId) {
        this.change(threadId, (now) => now.sending.reduceRight(putBack, now));
    }

    /**
     * Notes that the agent has read what the running turn had taken, or puts back what it has not as the turn ends.
     * @param {string} threadId
     * @param {string} method
     * @param {any} params
     */
    note(threadId, method, params) {
        const steered = this._drafts.get(threadId)?.value.steered ?? [];
        if (method === "turn/completed" && steered.length) {
            this.change(threadId, (draft) => steered.reduceRight(putBack, { ...draft, steered: [] }));
        } else if (method === "item/completed" && params.item.clientId) {
            this._read.add(params.item.clientId); // perhaps before the daemon has answered that the turn took it
            if (steered.length) {
                this.change(threadId, (draft) => ({ ...draft, steered: steered.filter((one) => one.id !== params.item.clientId) }));
            }
        }
    }

    /** Sends what was not acknowledged before the connection was lost, or the page left, and what the agent may have read meanwhile. */
    resume() {
        for (const name of names("draft ")) {
            this.draftOf(name.slice("draft ".length));
        }
        for (const [threadId, draft] of this._drafts) {
            if (draft.value.steered.length) {
                const queued = draft.value.steered.map((one) => ({ ...one, turn: null }));
                this.change(threadId, (now) => ({ ...now, steered: [], sending: [...queued, ...now.sending] }));
            }
            if (draft.value.sending.length) {
                this._send(threadId);
            }
        }
    }

    /**
     * Notes that the daemon carries out a command of a thread.
     * @param {string} threadId
     */
    began(threadId) {
        this._begun.get(threadId)?.();
    }

    /** @param {string} threadId */
    async _send(threadId) {
        if (this._busy.has(threadId)) {
            return; // what was added is sent behind the rest
        }
        this._busy.add(threadId);
        const draft = this.draftOf(threadId);
        try {
            for (let next = draft.value.sending[0]; next; next = draft.value.sending[0]) {
                await this._sendOne(threadId, next);
            }
        } catch (error) {
            if (!(error instanceof Disconnected)) {
                throw error;
            }
        } finally {
            this._busy.delete(threadId);
        }
    }

    /**
     * @param {string} threadId
     * @param {Outgoing} sent
     */
    async _sendOne(threadId, sent) {
        try {
            if (sent.mode === "command") {
                await this._command(threadId, sent);
                return;
            }
            const steered = (await this._prompt(threadId, sent)) && !this._read.has(sent.id) ? [sent] : [];
            this.change(threadId, (draft) => ({ ...acknowledged(draft, sent), steered: [...draft.steered, ...steered] }));
        } catch (error) {
            if (error instanceof Disconnected) {
                throw error; // it is sent again under its id
            }
            this.change(threadId, (draft) => putBack(draft, sent));
            this._teller.onRefused(threadId, error);
        }
    }

    /**
     * Sends a prompt; returns whether the running turn took it.
     * @param {string} threadId
     * @param {Outgoing} sent
     */
    async _prompt(threadId, { id, turn, text, images }) {
        const parts = text ? [{ type: "text", text, text_elements: [] }] : [];
        const input = [...images.map((url) => ({ type: "image", url })), ...parts];
        if (turn && (await this._steer({ threadId, expectedTurnId: turn, input, clientUserMessageId: id }))) {
            return true;
        }
        const command = { type: "thread.queue.add", commandId: id, threadId, input, clientUserMessageId: id };
        await this._session.request("orchestration/dispatch", { command });
        return false;
    }

    /**
     * Adds a prompt to the turn that runs; returns false if the turn takes none, or has ended.
     * @param {object} prompt
     */
    async _steer(prompt) {
        try {
            await this._session.request("turn/steer", prompt);
            return true;
        } catch (error) {
            if (error instanceof Disconnected) {
                throw error;
            }
            return false;
        }
    }

    /**
     * Gives a command, and waits until it is under way or over.
     * @param {string} threadId
     * @param {Outgoing} sent
     */
    async _command(threadId, sent) {
        const asked = { text: sent.text, threadId, commandId: sent.id };
        const ended = this._session.request("commands/execute", asked);
        const begun = new Promise((resolve) => this._begun.set(threadId, () => resolve(null)));
        const outcome = await Promise.race([ended, begun]);
        this._begun.delete(threadId);
        if (outcome === null) {
            this.change(threadId, (draft) => acknowledged(draft, sent));
            ended.then((later) => this._end(threadId, sent, later), (error) => this._teller.onRefused(threadId, error));
        } else {
            this._end(threadId, sent, outcome);
        }
    }

    /**
     * @param {string} threadId
     * @param {Outgoing} sent
     * @param {CommandOutcome} outcome
     */
    _end(threadId, sent, outcome) {
        if (!outcome.handled) {
            this.change(threadId, (draft) => ({
                ...draft, sending: draft.sending.map((one) => (one.id === sent.id ? { ...one, mode: "prompt", id: crypto.randomUUID() } : one)),
            }));
            return;
        }
        if (outcome.draft) { // once what is typed meanwhile was sent
            this._offered.set(threadId, { text: `${outcome.draft.accept} ${outcome.draft.text}`, images: [] });
        }
        this.change(threadId, (draft) => {
            const isOurs = draft.sending.some((one) => one.id === sent.id) || !draft.text;
            return isRefused(outcome) && isOurs ? putBack(draft, sent) : acknowledged(draft, sent);
        });
        this._teller.onOutcome(threadId, sent.text, outcome);
    }
}

/**
 * Returns whether a command was not carried out, and could be later.
 * @param {CommandOutcome} outcome
 */
export function isRefused(outcome) {
    return outcome.status === "failed" || outcome.blocker !== null;
}
