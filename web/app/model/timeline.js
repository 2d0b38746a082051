/**
 * What a person reads, in order: turns, summary banners, trim points. Pure.
 *
 * A divider stands at its boundary; its banner is right above it, and the section that it hides above that.
 *
 * @import {ThreadState, Point, Turn} from "./shapes.js"
 */
import { activeFrom } from "./state.js";

/** @import {Entry} from "./shapes.js" */

export const SEALED = "The provider keeps this summary sealed; it cannot be shown.";

/**
 * @typedef {{kind: "turn", key: string, turn: Turn, number: number, isTrimmed: boolean, entries: Entry[]}} TurnRow
 * @typedef {{kind: "banner", key: string, point: Point, summary: string}} BannerRow
 * @typedef {{kind: "divider", key: string, point: Point, isExpanded: boolean}} DividerRow
 * @typedef {{kind: "older", key: string}} OlderRow older turns are not loaded yet
 * @typedef {TurnRow | BannerRow | DividerRow | OlderRow} Row
 */

/** @type {Entry[]} */
const NO_ENTRIES = [];
/** The row of a turn as it was made last: the same object means that there is nothing to draw anew.
 * @type {WeakMap<Turn, TurnRow>}
 */
const made = new WeakMap();

/**
 * Returns the rows of a thread; a pruned section only when its trim point is in `expanded`.
 * @param {ThreadState} state
 * @param {ReadonlySet<string>} expanded
 * @returns {Row[]}
 */
export function rowsOf(state, expanded) {
    /** @type {Row[]} */
    const rows = [];
    /** @type {Point[]} */
    let discards = [];
    let start = 0;
    for (const point of inOrder(state.points)) {
        if (point.kind === "discard") {
            discards.push(point);
            continue;
        }
        const isExpanded = expanded.has(point.id);
        if (isExpanded) {
            addSection(rows, state, start, point.place, discards, true);
        }
        rows.push(...bannerRows(point));
        rows.push({ kind: "divider", key: `divider ${point.id}`, point, isExpanded });
        start = point.place;
        discards = [];
    }
    addSection(rows, state, start, state.turns.length, discards, start < activeFrom(state));
    return rows;
}

/**
 * @param {Row[]} rows
 * @param {ThreadState} state
 * @param {number} start
 * @param {number} end
 * @param {Point[]} discards
 * @param {boolean} isTrimmed
 */
function addSection(rows, state, start, end, discards, isTrimmed) {
    const from = Math.max(start, state.isComplete ? 0 : state.loadedFrom);
    if (!state.isComplete && start < Math.min(end, state.loadedFrom)) {
        // Another one each time that some were loaded: it must not be what stays in its place on the screen.
        rows.push({ kind: "older", key: `older ${start} ${from}` });
    }
    let next = start < from ? discards.findIndex((point) => point.place >= from) : 0;
    next = next < 0 ? discards.length : next; // those of turns that are not loaded wait for these
    for (let index = from; index < Math.min(end, state.turns.length); index += 1) {
        while (next < discards.length && discards[next].place <= index) {
            rows.push(...discardRows(discards[next]));
            next += 1;
        }
        rows.push(turnRow(state, index, isTrimmed));
    }
    rows.push(...discards.slice(next).flatMap(discardRows));
}

/**
 * @param {ThreadState} state
 * @param {number} index
 * @param {boolean} isTrimmed
 */
function turnRow(state, index, isTrimmed) {
    const turn = state.turns[index];
    const entries = state.entries.get(turn.id) ?? NO_ENTRIES;
    let row = made.get(turn);
    if (!row || row.entries !== entries || row.number !== index + 1 || row.isTrimmed !== isTrimmed) {
        row = { kind: "turn", key: turn.id, turn, number: index + 1, isTrimmed, entries };
        made.set(turn, row);
    }
    return row;
}

/**
 * @param {Point} point
 * @returns {Row[]}
 */
function discardRows(point) {
    return [...bannerRows(point), { kind: "divider", key: `divider ${point.id}`, point, isExpanded: true }];
}

/**
 * @param {Point} point
 * @returns {BannerRow[]}
 */
function bannerRows(point) {
    const summary = point.summary ?? (point.summaryUnavailable ? SEALED : null);
    return summary === null ? [] : [{ kind: "banner", key: `banner ${point.id}`, point, summary }];
}

/**
 * Returns the trim point whose section hides a turn while it is closed.
 * @param {ThreadState} state
 * @param {string} turnId
 */
export function hidingPoint(state, turnId) {
    const index = state.turnIndex.get(turnId) ?? 0;
    return inOrder(state.points).find((point) => point.kind === "boundary" && point.place > index) ?? null;
}

/** @param {Point[]} points */
function inOrder(points) {
    return points.toSorted((one, other) => one.place - other.place || one.generation - other.generation);
}
