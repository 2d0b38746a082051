/**
 * What a person has typed for a thread, and what of it is on its way. Pure.
 *
 * A prompt stays in the box until the daemon has acknowledged it; what is typed behind it meanwhile stays when it goes.
 */

import { standing, unfolded } from "./pastes.js";

/** @import {Paste} from "./pastes.js" */
/** @typedef {"prompt" | "steer" | "command"} Mode */
/**
 * @typedef {{id: string, mode: Mode, text: string, typed?: string, images: string[], turn?: string | null}} Outgoing `turn`: the one it
 *     is for; `typed`: as it stands in the box, where that has words for long texts
 */
/**
 * @typedef {{text: string, images: string[], pastes: Paste[], sending: Outgoing[], steered: Outgoing[]}} Draft `steered`: what the running turn has
 *     taken and the agent may not have read yet
 */

/** @type {Draft} */
export const EMPTY = { text: "", images: [], pastes: [], sending: [], steered: [] };

/**
 * Returns what was typed behind what is on its way.
 * @param {Draft} draft
 */
export function unsent(draft) {
    return draft.sending.reduce((text, sent) => without(text, typedOf(sent)), draft.text).trim();
}

/**
 * Puts what is unsent on its way.
 * @param {Draft} draft
 * @param {string} id
 * @param {Mode} mode
 * @param {string | null} [turn]
 * @returns {Draft}
 */
export function submitted(draft, id, mode, turn = null) {
    const typed = unsent(draft);
    const text = unfolded(typed, draft.pastes);
    const outgoing = { id, mode, text, ...(text === typed ? {} : { typed }), images: draft.images, turn };
    return { ...draft, images: [], sending: [...draft.sending, outgoing] };
}

/**
 * Takes what was acknowledged out of the box.
 * @param {Draft} draft
 * @param {Outgoing} sent
 * @returns {Draft}
 */
export function acknowledged(draft, sent) {
    const text = without(draft.text, typedOf(sent));
    return { ...draft, text, pastes: standing(text, draft.pastes), sending: draft.sending.filter((one) => one.id !== sent.id) };
}

/**
 * Puts what was not sent back: it is no longer on its way.
 * @param {Draft} draft
 * @param {Outgoing} sent
 * @returns {Draft}
 */
export function putBack(draft, sent) {
    const isThere = draft.text.trimStart().startsWith(typedOf(sent));
    const text = isThere ? draft.text : [sent.text, draft.text].filter((one) => one.trim()).join("\n");
    return { ...draft, text, images: [...sent.images, ...draft.images], sending: draft.sending.filter((one) => one.id !== sent.id) };
}

/** @param {Outgoing} sent */
function typedOf(sent) {
    return sent.typed ?? sent.text;
}

/**
 * @param {string} text
 * @param {string} beginning
 */
function without(text, beginning) {
    const rest = text.trimStart();
    return beginning && rest.startsWith(beginning) ? rest.slice(beginning.length).trimStart() : text;
}
