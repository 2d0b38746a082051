/**
 * Numbers and times in words. Pure: the time now is given.
 *
 * @import {ContextStatus} from "../protocol.js"
 */

/**
 * Returns a number of tokens as people say it: 850, 8.5k, 85k, 1.2M.
 * @param {number} tokens
 */
export function shortCount(tokens) {
    if (tokens < 1000) {
        return String(tokens);
    }
    const [value, unit] = tokens < 999_500 ? [tokens / 1000, "k"] : [tokens / 1_000_000, "M"];
    return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)}${unit}`;
}

/**
 * @param {number} count
 * @param {string} noun
 */
export function counted(count, noun) {
    return `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
}

/**
 * Returns how long ago something was: now, 5m, 3h, 2d, else the date.
 * @param {string} time
 * @param {number} nowMs
 */
export function age(time, nowMs) {
    const minutes = Math.floor((nowMs - Date.parse(time)) / 60_000);
    if (minutes < 1) {
        return "now";
    }
    if (minutes < 60) {
        return `${minutes}m`;
    }
    if (minutes < 24 * 60) {
        return `${Math.floor(minutes / 60)}h`;
    }
    return minutes < 14 * 24 * 60 ? `${Math.floor(minutes / 60 / 24)}d` : time.slice(0, 10);
}

/**
 * Returns how long something took: 0.4s, 12s, 3m 05s.
 * @param {number} ms
 */
export function duration(ms) {
    if (ms < 10_000) {
        return `${(ms / 1000).toFixed(1)}s`;
    }
    const seconds = Math.round(ms / 1000);
    return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m ${String(seconds % 60).padStart(2, "0")}s`;
}

// To make one takes longer than to draw a turn.
const HOUR = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit" });
const DAY_MS = 24 * 60 * 60 * 1000;
const DAY = new Intl.DateTimeFormat([], { month: "short", day: "numeric" });

/**
 * Returns a time of day, with the date where it is not today's.
 * @param {string} time
 * @param {number} nowMs
 */
export function clock(time, nowMs) {
    const at = new Date(time);
    const now = new Date(nowMs);
    const isToday = at.getDate() === now.getDate() && nowMs - at.getTime() < DAY_MS;
    return isToday ? HOUR.format(at) : `${DAY.format(at)}, ${HOUR.format(at)}`;
}

/**
 * Returns the end of a path, which tells most of it.
 * @param {string} path
 */
export function folderName(path) {
    return path.split("/").filter(Boolean).at(-1) ?? "/";
}

/**
 * Returns a path as seen from a folder; whole where it is not inside it.
 * @param {string} path
 * @param {string} [folder]
 */
export function pathFrom(path, folder) {
    const inside = folder ? `${folder.replace(/\/+$/, "")}/` : "";
    return inside && path.startsWith(inside) ? path.slice(inside.length) : path;
}

/**
 * Returns how full the context is, in words.
 * @param {ContextStatus} context
 */
export function fullness({ percent, usedTokens, windowTokens, estimated, unknown }) {
    const isAbout = estimated || unknown;
    const tokens = `${isAbout ? "~" : ""}${shortCount(usedTokens)}${windowTokens ? ` / ${shortCount(windowTokens)}` : ""}`;
    return percent === null
        ? `${isAbout ? "about " : ""}${usedTokens} tokens`
        : `${isAbout ? "about " : ""}${Math.round(percent)}% of the context used, ${tokens} tokens`;
}
