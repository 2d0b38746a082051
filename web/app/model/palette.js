/**
 * What the palette offers for what is typed into it. Pure.
 *
 * @import {ThreadOverview} from "../protocol.js"
 */
import { titleOf } from "./threads.js";

const MOST = 50;

/** @typedef {{key: string, words: string, hint: string, act: () => void}} Offer */

/**
 * Returns the offers that have each word that was typed, those that begin with it first.
 * @param {Offer[]} offers
 * @param {string} typed
 */
export function matching(offers, typed) {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const found = offers.filter((offer) => words.every((word) => offer.words.toLowerCase().includes(word)));
    const begins = (/** @type {Offer} */ offer) => offer.words.toLowerCase().startsWith(words[0] ?? "");
    return [...found.filter(begins), ...found.filter((offer) => !begins(offer))].slice(0, MOST);
}

/**
 * Returns the turn that a number names, null where it names none.
 * @param {string} typed
 * @param {number} count how many turns there are
 */
export function turnTyped(typed, count) {
    const number = Number(/^\s*(?:turn\s*|#)?(\d+)\s*$/i.exec(typed)?.[1] ?? 0);
    return number >= 1 && number <= count ? number : null;
}

/**
 * Returns the threads to go to.
 * @param {ThreadOverview[]} threads
 * @param {(id: string) => void} open
 * @returns {Offer[]}
 */
export function threadOffers(threads, open) {
    return threads.map((thread) => ({ key: thread.id, words: titleOf(thread), hint: "thread", act: () => open(thread.id) }));
}
