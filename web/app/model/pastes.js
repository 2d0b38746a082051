/**
 * Long texts that were pasted into the prompt: a word in brackets stands for each until it is sent, so that typing costs
 * nothing. Pure.
 */

const LONG_LINES = 40;
const LONG_CHARACTERS = 4000;

/** @typedef {{word: string, text: string}} Paste */

/**
 * Returns whether a text is folded.
 * @param {string} text
 */
export function isLong(text) {
    return text.length > LONG_CHARACTERS || text.split("\n", LONG_LINES + 1).length > LONG_LINES;
}

/**
 * Returns a text that was pasted with a word for it that no other one has.
 * @param {string} text
 * @param {Paste[]} others
 * @returns {Paste}
 */
export function folded(text, others) {
    const lines = text.trimEnd().split("\n").length;
    const size = lines > 1 ? `${lines.toLocaleString("en")} lines` : `${text.length.toLocaleString("en")} characters`;
    let word = `[pasted ${size}]`;
    for (let number = 2; others.some((one) => one.word === word); number += 1) {
        word = `[pasted ${size}, ${number}]`;
    }
    return { word, text };
}

/**
 * Returns what was typed with each word replaced by what it stands for.
 * @param {string} typed
 * @param {Paste[]} pastes
 */
export function unfolded(typed, pastes) {
    return typed.split(/(\[pasted [^\]\n]{1,40}\])/).map((part) => pastes.find((one) => one.word === part)?.text ?? part).join("");
}

/**
 * Returns those whose word still stands in what was typed.
 * @param {string} typed
 * @param {Paste[]} pastes
 */
export function standing(typed, pastes) {
    return pastes.filter((one) => typed.includes(one.word));
}
