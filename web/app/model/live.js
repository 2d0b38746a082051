/**
 * What the running turn has said so far, from Codex's notifications; gone once the daemon has recorded it. Pure.
 *
 * Of a turn that was interrupted, what it had said stays.
 */
import { own } from "./words.js";

/** @type {Record<string, string>} what grows by the deltas of a method */
const GROWS = {
    "item/agentMessage/delta": "agentMessage", "item/plan/delta": "plan", "item/reasoning/summaryTextDelta": "reasoning",
    "item/reasoning/textDelta": "reasoning", "item/commandExecution/outputDelta": "commandExecution",
};

/**
 * @typedef {object} LiveItem
 * @property {string} id
 * @property {string} turnId
 * @property {"message" | "activity"} kind
 * @property {string} role
 * @property {string} text
 * @property {any} detail
 * @property {boolean} isDone
 */

/** @typedef {{items: Map<string, LiveItem>, notice: string}} Live `notice`: what Codex says of a retry */

/** @returns {Live} */
export function nothingLive() {
    return { items: new Map(), notice: "" };
}

/**
 * Takes a notification of Codex in.
 * @param {Live} live
 * @param {string} method
 * @param {any} params
 * @returns {boolean} whether anything changed
 */
export function note(live, method, params) {
    switch (method) {
        case "item/started":
        case "item/completed":
            return noteItem(live, params, method === "item/completed");
        case "error":
            live.notice = params.willRetry ? `${string(params.error?.message) || "The model did not answer"}; trying again …` : "";
            return true;
        case "turn/started":
        case "turn/completed":
            return endTurn(live, method === "turn/completed");
        default: {
            const type = own(GROWS, method);
            return type !== undefined && append(live, params, type);
        }
    }
}

/**
 * Takes in what the running turn had said before its notifications came here, in place of what is known of it.
 * @param {Live} live
 * @param {import("../protocol.js").LiveItem[]} items
 */
export function catchUp(live, items) {
    for (const { turnId, item } of items) {
        live.items.delete(item.id); // the daemon's order
        noteItem(live, { turnId, item }, false);
    }
}

/**
 * Forgets an item that is recorded now.
 * @param {Live} live
 * @param {string} itemId
 */
export function forget(live, itemId) {
    return live.items.delete(itemId);
}

/**
 * @param {Live} live
 * @param {boolean} isOver
 */
function endTurn(live, isOver) {
    live.notice = "";
    if (isOver) {
        // What was finished is on its way as an event. What was not will not come.
        for (const item of [...live.items.values()].filter((one) => !one.isDone)) {
            if (item.kind === "message" && item.text) {
                live.items.set(item.id, { ...item, isDone: true });
            } else {
                live.items.delete(item.id);
            }
        }
    }
    return true;
}

/**
 * @param {Live} live
 * @param {any} params
 * @param {boolean} isDone
 */
function noteItem(live, params, isDone) {
    const item = params.item;
    const known = live.items.get(item.id);
    const isMessage = item.type === "agentMessage" || item.type === "userMessage";
    live.notice = "";
    live.items.set(item.id, {
        id: item.id,
        turnId: params.turnId,
        kind: isMessage ? "message" : "activity",
        role: item.type === "agentMessage" ? "assistant" : item.type === "userMessage" ? "user" : item.type,
        text: textOf(item) || known?.text || "",
        detail: item,
        isDone,
    });
    return true;
}

/**
 * @param {Live} live
 * @param {any} params
 * @param {string} type
 */
function append(live, params, type) {
    if (!live.items.has(params.itemId)) {
        // Its beginning was missed; it comes with the record of it.
        noteItem(live, { turnId: params.turnId, item: { id: params.itemId, type, text: "… " } }, false);
    }
    const item = /** @type {LiveItem} */ (live.items.get(params.itemId));
    if (type === "commandExecution") {
        const aggregatedOutput = string(item.detail?.aggregatedOutput) + string(params.delta);
        live.items.set(item.id, { ...item, detail: { ...item.detail, aggregatedOutput } });
    } else {
        live.items.set(item.id, { ...item, text: item.text + string(params.delta) });
    }
    return true;
}

/** @param {any} item */
function textOf(item) {
    switch (item.type) {
        case "userMessage":
            return list(item.content).map((part) => string(part?.text)).join("\n");
        case "reasoning":
            return [...list(item.summary), ...list(item.content)].map(string).join("\n\n");
        case "commandExecution":
            return string(item.command);
        default:
            return string(item.text);
    }
}

/**
 * @param {unknown} value what others send has no certain shape
 * @returns {any[]}
 */
function list(value) {
    return Array.isArray(value) ? value : [];
}

/** @param {unknown} value */
function string(value) {
    return typeof value === "string" ? value : "";
}
