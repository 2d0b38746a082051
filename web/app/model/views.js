/**
 * Commands for which the page has a view of its own. Pure.
 */

/** @typedef {{dialog?: "clear" | "palette", panel?: "context" | "search" | "checkpoints", query?: string}} View */

/**
 * Returns the view for a command as it was typed, null where there is none.
 * @param {string} text
 * @returns {View | null}
 */
export function viewOf(text) {
    const [, name, rest] = /^[/:]([a-z]+)\s*([\s\S]*)$/i.exec(text.trim()) ?? [];
    switch (name?.toLowerCase()) {
        case "clear":
            return rest ? null : { dialog: "clear" };
        case "help":
            return rest ? null : { dialog: "palette" };
        case "timeline":
        case "revert":
            return rest ? null : { panel: "checkpoints" };
        case "context":
        case "pins":
            return rest ? null : { panel: "context" };
        case "search":
            return /^--/.test(rest) ? null : { panel: "search", query: rest };
        default:
            return null;
    }
}
