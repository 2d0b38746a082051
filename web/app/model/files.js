/**
 * Files that a prompt names. Pure.
 */

const MOST = 10;

/**
 * Returns the word at the end of a text that names a file, with its `@`; empty where there is none.
 * @param {string} before
 */
export function fileTyped(before) {
    return /(?:^|\s)(@\S*)$/.exec(before)?.[1] ?? "";
}

/**
 * Returns the paths that Codex has found, folders with a slash at their end. It leaves out what git ignores, but not git's own files.
 * @param {{files: {path: string, match_type: string}[]}} answer
 */
export function pathsOf({ files }) {
    const own = files.filter(({ path }) => path.split("/")[0] !== ".git");
    return own.map((one) => (one.match_type === "directory" ? `${one.path}/` : one.path)).slice(0, MOST);
}

/**
 * Returns how a prompt names a file.
 * @param {string} path
 */
export function spelledPath(path) {
    return path.includes(" ") ? `@"${path}"` : `@${path}`;
}
