/**
 * The address that opens a file in a person's editor. Pure.
 */
import { numbered } from "./diff.js";

// The host stands before the path, so that no path names one.
const TEMPLATE = /^(?:https|vscode(?:-insiders)?|vscodium|cursor|windsurf|zed|idea|pycharm|webstorm|phpstorm|goland|clion|rubymine|rider|jetbrains|subl|txmt|mvim|emacs|nvim):\/\/[^{}/?#\\\s]+\S*\{path\}/i;
// A step up could leave the host of an editor's address; half a character has no spelling in one.
const UNSPELLABLE = /(?:^|\/)\.\.?(?:\/|$)|\p{Surrogate}/u;

/** @param {string} template */
export function isTemplate(template) {
    return TEMPLATE.test(template);
}

/**
 * Returns the address of a file's line, null where there is none.
 * @param {string} template an address with `{path}`, and `{line}` if it knows lines
 * @param {string} path from `/` on
 * @param {number} line
 */
export function addressOf(template, path, line) {
    if (!isTemplate(template) || path[0] !== "/" || UNSPELLABLE.test(path)) {
        return null;
    }
    const spelled = path.split("/").map(encodeURIComponent).join("/");
    return template.replace(/\{(path|line)\}/g, (_, name) => (name === "path" ? spelled : String(line)));
}

/**
 * Returns the line of a file where its first change is; 0 where nothing is left of the file.
 * @param {string[]} lines of the file's diff
 */
export function changedLine(lines) {
    const all = numbered(lines);
    const at = all.findIndex(({ kind }) => kind === "added" || kind === "removed");
    return (all.slice(Math.max(0, at)).find(({ after }) => after) ?? all.findLast(({ after }) => after))?.after ?? 0;
}
