/**
 * Changes of files as Codex reports them: as a diff, and counted. Pure.
 */

/** @typedef {{path: string, kind?: {type?: string, move_path?: string | null} | string, diff: string}} Change */

/**
 * Returns the changes that an item of Codex has.
 * @param {any} detail
 * @returns {Change[]}
 */
export function changesOf(detail) {
    const changes = Array.isArray(detail?.changes) ? detail.changes : [];
    return changes.filter(Boolean).map((/** @type {any} */ change) => ({ ...change, path: String(change.path ?? "?"), diff: String(change.diff ?? "") }));
}

/**
 * Returns a change as a diff; Codex sends a new or deleted file as its bare text.
 * @param {Change} change
 */
export function asDiff(change) {
    const text = change.diff;
    const kind = typeof change.kind === "string" ? change.kind : change.kind?.type;
    if (kind !== "add" && kind !== "delete") {
        return text.replace(/\n$/, "");
    }
    const sign = kind === "add" ? "+" : "-";
    return text && text.replace(/\n$/, "").split("\n").map((line) => sign + line).join("\n");
}

/**
 * Returns how many lines changes add and remove.
 * @param {Change[]} changes
 */
export function counts(changes) {
    const lines = changes.flatMap((change) => {
        const diff = asDiff(change).split("\n");
        const first = diff.findIndex((line) => line.startsWith("@@"));
        return first < 0 ? diff : diff.slice(first);
    });
    return { added: lines.filter((line) => line.startsWith("+")).length, removed: lines.filter((line) => line.startsWith("-")).length };
}

/**
 * Returns the path that a change is about, with the new one where a file moves.
 * @param {Change} change
 */
export function placeOf(change) {
    const file = fileOf(change);
    return file === change.path ? file : `${change.path} → ${file}`;
}

/**
 * Returns the path that a file has after a change.
 * @param {Change} change
 */
export function fileOf({ path, kind }) {
    return (typeof kind === "string" ? null : kind?.move_path) || path;
}
