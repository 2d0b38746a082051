/**
 * The words for the outcome of a command, from its parts. Pure.
 *
 * @import {CommandOutcome} from "../protocol.js"
 */

const NUMBERS = new Intl.NumberFormat("en");

/**
 * Returns what a person reads of an outcome. What takes it back is a button beside it.
 * @param {CommandOutcome} outcome
 */
export function wordsOf({ undo, said, tokens, hints, message, draft }) {
    if (!undo || !said) {
        return (draft ? said : message) ?? ""; // a draft stands in the box
    }
    const ways = (hints ?? []).map((hint) => `${hint.command} ${hint.text}.`);
    return [said, tokens && sizes(tokens), ...ways].filter(Boolean).join(" ");
}

/**
 * Returns whether a command can be insisted on.
 * @param {CommandOutcome} outcome
 */
export function canInsist({ hints }) {
    return (hints ?? []).some((hint) => hint.command.includes("--force"));
}

/** @param {NonNullable<CommandOutcome["tokens"]>} tokens */
function sizes({ before, after, beforeEstimated, afterEstimated, cost }) {
    const was = `${beforeEstimated ? "about " : ""}${NUMBERS.format(before)} tokens`;
    if (after === null) {
        return `The context holds ${was} now.`;
    }
    return [`Context: ${was} before, ${afterEstimated ? "about " : ""}${NUMBERS.format(after)} after.`, cost?.said].filter(Boolean).join(" ");
}
