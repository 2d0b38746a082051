/**
 * Queries of a search in the history, and the snippets that it gives. Pure.
 */

/**
 * Returns what to ask for while a query is being typed: the last word may be the beginning of one.
 * @param {string} text
 */
export function asTyped(text) {
    const query = text.trim();
    return /[\p{L}\p{N}_]{2}$/u.test(query) && !query.includes('"') ? `${query}*` : query;
}

/**
 * Cuts a snippet where its marks begin and end; they count code points.
 * @param {string} snippet
 * @param {number[][]} marks
 */
export function piecesOf(snippet, marks) {
    const points = Array.from(snippet);
    /** @type {{text: string, isMarked: boolean}[]} */
    const pieces = [];
    let at = 0;
    for (const [start, end] of marks) {
        pieces.push({ text: points.slice(at, start).join(""), isMarked: false });
        pieces.push({ text: points.slice(start, end).join(""), isMarked: true });
        at = end;
    }
    pieces.push({ text: points.slice(at).join(""), isMarked: false });
    return pieces.filter((piece) => piece.text !== "");
}
