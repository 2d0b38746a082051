/**
 * Diffs: of several files, as git writes them, file by file; and of one, line by line or side by side. Pure.
 */
import { own } from "./words.js";

/** @type {Record<string, string>} */
const ESCAPED = { a: "\u0007", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** @typedef {{path: string, text: string}} FileDiff `text` begins with its first hunk, or says why there is none */

/**
 * Returns the files of a diff; what stands above a file's hunks is in its path, or in words where there are none.
 * @param {string} diff
 * @returns {FileDiff[]}
 */
export function filesOf(diff) {
    const parts = diff.split(/^(?=diff --git )/m).filter((part) => part.trim());
    return parts.map((part) => {
        const at = part.search(/^@@/m);
        const head = at < 0 ? part : part.slice(0, at);
        return { path: pathIn(head), text: at < 0 ? inWords(head) : part.slice(at).replace(/\n$/, "") };
    });
}

/** Git quotes names with controls or quotes, and sets a tab behind those with blanks.
 * @param {string} head
 */
function pathIn(head) {
    const after = /^\+\+\+ ("?)b\/(.*?)\1\t?$/m.exec(head) ?? /^rename to ("?)(.*)\1$/m.exec(head);
    const before = /^--- ("?)a\/(.*?)\1\t?$/m.exec(head) ?? /^diff --git ("?)a\/(.*)\1 \1b\/\2\1$/m.exec(head) ?? /^diff --git ()(.*)$/m.exec(head);
    const [, quote, path] = after ?? before ?? ["", "", ""];
    return quote ? path.replace(/\\(?:(\d{3})|(.))/g, (_, octal, letter) => (octal ? String.fromCharCode(parseInt(octal, 8)) : (own(ESCAPED, letter) ?? letter))) : path;
}

/** @param {string} head */
function inWords(head) {
    if (/^(?:Binary files|GIT binary patch)/m.test(head)) {
        return "Binary file.";
    }
    return head.split("\n").filter((line) => /^(?:old|new|deleted|rename|similarity)/.test(line)).join("\n") || "Empty file.";
}

/** @typedef {{kind: "place" | "same" | "added" | "removed", text: string, before: number, after: number}} Line */

/**
 * Returns the lines of a file's diff without their signs, and with their numbers.
 * @param {string[]} lines
 * @returns {Line[]}
 */
export function numbered(lines) {
    let [before, after] = [1, 1];
    return lines.map((line) => {
        const place = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
        if (place || line[0] === "\\") {
            [before, after] = place ? [Number(place[1]), Number(place[2])] : [before, after];
            return { kind: "place", text: line, before: 0, after: 0 };
        }
        const kind = line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "same";
        return { kind, text: line.slice(1), before: kind === "added" ? 0 : before++, after: kind === "removed" ? 0 : after++ };
    });
}

/**
 * Returns what stands side by side; what was removed beside what was added in its place.
 * @param {Line[]} lines
 * @returns {[left: Line | null, right: Line | null][]}
 */
export function sides(lines) {
    /** @type {[Line | null, Line | null][]} */
    const pairs = [];
    let free = 0; // the first of the removed lines that has nothing beside it yet
    for (const line of lines) {
        const isBeside = line.kind === "added" && free < pairs.length;
        if (isBeside) {
            pairs[free][1] = line;
        } else {
            pairs.push([line.kind === "added" ? null : line, line.kind === "removed" ? null : line]);
        }
        free = isBeside ? free + 1 : line.kind === "removed" ? free : pairs.length;
    }
    return pairs;
}
