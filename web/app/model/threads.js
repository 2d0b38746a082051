/**
 * The list of threads: which wait for a person, and which have changed. Pure.
 *
 * @import {ThreadOverview} from "../protocol.js"
 */
/**
 * Returns whether a thread waits for an answer of a person.
 * @param {{asks?: string | null, archived: boolean}} thread
 */
export function waits({ asks, archived }) {
    return !archived && Boolean(asks);
}

/**
 * Returns whether the daemon has not recorded yet what Codex has said of a thread: that it rests (the daemon may go on and
 * compact), or that it waits for an answer. The daemon tells nobody when it has.
 * @param {{asks?: string | null, busy: string | null}} thread
 * @param {any} said the status that Codex has given
 */
export function isBehind({ asks, busy }, said) {
    const isWaiting = said?.activeFlags?.some?.((/** @type {unknown} */ flag) => String(flag).startsWith("waitingOn"));
    return isWaiting ? !asks : said !== undefined && said?.type !== "active" && Boolean(busy);
}

/** @param {{name: string | null, preview?: string}} thread */
export function titleOf(thread) {
    return thread.name || thread.preview || "Untitled";
}

/**
 * Returns the second line of a thread in a list: its branch, and what was said last.
 * @param {{name: string | null, preview?: string, branchName?: string | null, lastWords?: string}} thread
 */
export function secondOf(thread) {
    return [thread.branchName, thread.lastWords].filter((one) => one && one !== titleOf(thread)).join(" · ");
}

/**
 * Returns a list with what is known now of some of its threads; those that there are no more are left out.
 * @param {ThreadOverview[]} threads
 * @param {ThreadOverview[]} found
 * @param {string[]} asked
 */
export function merged(threads, found, asked) {
    const others = threads.filter((thread) => !asked.includes(thread.id));
    return [...found, ...others].sort((one, other) => Date.parse(other.updatedAt) - Date.parse(one.updatedAt));
}

/**
 * Returns the threads by the folder that they work in.
 * @param {ThreadOverview[]} threads
 * @returns {[string, ThreadOverview[]][]}
 */
export function byFolder(threads) {
    /** @type {Map<string, ThreadOverview[]>} */
    const groups = new Map();
    for (const thread of threads) {
        groups.set(thread.cwd, [...(groups.get(thread.cwd) ?? []), thread]);
    }
    return [...groups];
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** @type {[days: number, words: string][]} */
const PERIODS = [[0, "Today"], [1, "Yesterday"], [7, "Last 7 days"], [30, "Last 30 days"], [Infinity, "Older"]];

/**
 * Returns threads by when they were used last, in the order in which they come.
 * @template {{updatedAt: string}} T
 * @param {T[]} threads
 * @param {number} nowMs
 * @returns {[words: string, members: T[]][]}
 */
export function byPeriod(threads, nowMs) {
    const today = new Date(nowMs).setHours(0, 0, 0, 0);
    /** @type {[string, T[]][]} */
    const groups = [];
    for (const thread of threads) {
        const days = Math.ceil((today - Date.parse(thread.updatedAt)) / DAY_MS);
        const words = PERIODS.find(([most]) => days <= most)?.[1] ?? "";
        if (groups.at(-1)?.[0] !== words) {
            groups.push([words, []]);
        }
        groups.at(-1)?.[1].push(thread);
    }
    return groups;
}
