/**
 * Markdown as blocks, so that of a growing text only the end is read again. Pure.
 *
 * @import {Token} from "../vendor.js"
 */
import { Lexer } from "../vendor.js";

// Formulas stay as they are written: to Markdown their backslashes would be escapes.
const FORMULA = /^(?:\$\$[\s\S]+?\$\$|\\\([\s\S]+?\\\)|\\\[[\s\S]+?\\\]|\$(?![\s$])(?:[^$\n\\]|\\.)+?(?<!\s)\$(?!\d))/;
/** @type {any} marked's own form for what it should know besides */
const EXTENSIONS = {
    inline: [(/** @type {string} */ text) => formulaAt(text)],
    startInline: [(/** @type {string} */ text) => text.search(/\$|\\[([]/)],
    renderers: {}, childTokens: {},
};
const OPTIONS = { gfm: true, breaks: false, extensions: EXTENSIONS };
const SAFE_LINK = /^(https?:|mailto:)/i;

/** @param {string} text */
function formulaAt(text) {
    const [raw] = FORMULA.exec(text) ?? [];
    return raw && { type: "formula", raw };
}

/** Reads a text that grows at its end. */
export class GrowingMarkdown {
    constructor() {
        this._text = "";
        /** @type {Token[]} */
        this._tokens = [];
    }

    /**
     * Returns the blocks of the text; those that did not change are the same objects as before.
     * @param {string} text
     * @returns {Token[]}
     */
    read(text) {
        if (text === this._text) {
            return this._tokens;
        }
        // The last two blocks may still change: a line that follows can turn text into a table or a list.
        const kept = text.startsWith(this._text) ? this._tokens.slice(0, -2) : [];
        const length = kept.reduce((sum, token) => sum + token.raw.length, 0);
        this._tokens = [...kept, ...Lexer.lex(text.slice(length), OPTIONS)];
        this._text = text;
        return this._tokens;
    }
}

/**
 * Returns an address that may be followed, null for any other: scripts, files, data.
 * @param {string} href
 */
export function safeLink(href) {
    return SAFE_LINK.test(href.trim()) ? href.trim() : null;
}
