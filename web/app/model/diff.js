/**
 * A diff of several files, as git writes it, file by file. Pure.
 */

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

/** @param {string} head */
function pathIn(head) {
    const after = /^\+\+\+ b\/(.*)$/m.exec(head) ?? /^rename to (.*)$/m.exec(head);
    const before = /^--- a\/(.*)$/m.exec(head) ?? /^diff --git a\/(.*) b\/\1$/m.exec(head) ?? /^diff --git (.*)$/m.exec(head);
    return (after ?? before)?.[1] ?? "";
}

/** @param {string} head */
function inWords(head) {
    if (/^(?:Binary files|GIT binary patch)/m.test(head)) {
        return "Binary file.";
    }
    return head.split("\n").filter((line) => /^(?:old|new|deleted|rename|similarity)/.test(line)).join("\n") || "Empty file.";
}
