/**
 * Makes characters visible that are not seen, or that change how their neighbours are seen. Pure.
 */

// Controls but tab and line feed; direction overrides; what has no width or looks like a blank.
const MISLEADING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
// In what is to be approved also those that scripts and emoji need: joiners, soft hyphens, other blanks, fillers.
const UNUSUAL = /[\u00a0\u00ad\u034f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200a\u200c\u200d\u202f\u205f\u3000\u3164\ufe00-\ufe0e\uffa0]|[\u{e0100}-\u{e01ef}]/gu;
const MOST_EMPTY_LINES = 3;
// Indentation is long in real files; blanks behind a word are not.
const BLANKS = /(?<=\S)[^\S\n]{17,}|^[^\S\n]{61,}/gm;
const GAP = /(?:^[^\S\n]*\n){4,}/gm;

/**
 * Returns a text with its misleading characters as `⟨U+202E⟩`.
 * @param {string} text
 */
export function visible(text) {
    return text.replaceAll("\r\n", "\n").replace(MISLEADING, named);
}

/**
 * Returns all that a text has, for a person who is to approve it: hidden characters are visible, and a long run of blanks
 * or of empty lines, which would move the rest out of sight, is replaced by its length.
 * @param {string} text
 */
export function whole(text) {
    const seen = visible(text).replace(UNUSUAL, named).replace(/\n+$/, "");
    return seen
        .replace(BLANKS, (run) => ` ⟨${run.length.toLocaleString("en")} blanks⟩ `)
        .replace(GAP, (run) => {
            const count = run.split("\n").length - 1;
            return count > MOST_EMPTY_LINES ? `⟨${count.toLocaleString("en")} empty lines⟩\n` : run;
        });
}

/** @param {string} found */
function named(found) {
    const code = /** @type {number} */ (found.codePointAt(0));
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
}
