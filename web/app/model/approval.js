/**
 * What the agent asks for, and the answers to it. Pure.
 *
 * @import {Change} from "./changes.js"
 */
import { wishesOf } from "./permissions.js";
import { own } from "./words.js";

/** No answer is taken sooner than this after a question has appeared: what is under way was meant for something else. */
export const SETTLED_MS = 500;

/**
 * @typedef {object} Choice
 * @property {string} key
 * @property {string} words
 * @property {object} result
 * @property {boolean} [isMain]
 * @property {boolean} [allows]
 * @property {string} [rule] what it writes for good, into Codex's configuration
 */

/** @typedef {{method: string, params: any}} Asked */

/** @type {Record<string, string>} */
const TITLES = {
    "item/commandExecution/requestApproval": "Run this command?",
    "item/fileChange/requestApproval": "Change these files?",
};

/**
 * Returns what is asked, as a question.
 * @param {Asked} asked
 */
export function titleOf({ method, params }) {
    if (params.networkApprovalContext?.host) {
        return "Reach this host over the network?";
    }
    if (params.kind === "writeStdin") {
        return "Type this into a running program?";
    }
    return own(TITLES, method) ?? "Give the agent more permissions?";
}

/**
 * Returns the answers that Codex offers, each with a key of its own. Where it is not known what would be done, none of
 * them allows it.
 * @param {Asked} asked
 * @param {boolean} isKnown
 * @returns {Choice[]}
 */
export function choicesOf({ method, params }, isKnown) {
    const choices = method === "item/permissions/requestApproval" ? permissionChoices(params) : decisions(params);
    return choices.filter((choice) => isKnown || !choice.allows);
}

/**
 * @param {any} params
 * @returns {Choice[]}
 */
function permissionChoices({ permissions }) {
    return [
        { key: "y", words: "Allow for this turn", result: { permissions, scope: "turn" }, isMain: true, allows: true },
        { key: "s", words: "Allow for the session", result: { permissions, scope: "session" }, allows: true },
        { key: "n", words: "Decline", result: { permissions: {}, scope: "turn" } },
    ];
}

/**
 * @param {any} params
 * @returns {Choice[]}
 */
function decisions(params) {
    /** @type {any[]} */
    const offered = params.availableDecisions ?? ["accept", "acceptForSession", "decline", "cancel"];
    /** @type {Choice[]} */
    const choices = [];
    offered.forEach((decision, at) => {
        const { key, ...rest } = choiceOf(decision, !offered.includes("decline"));
        const isFree = key !== "" && choices.every((one) => one.key !== key);
        choices.push({ key: isFree ? key : String(at + 1), result: { decision }, ...rest });
    });
    return choices;
}

/**
 * @param {any} decision
 * @param {boolean} isOnlyNo
 * @returns {Omit<Choice, "result">}
 */
function choiceOf(decision, isOnlyNo) {
    switch (decision) {
        case "accept":
            return { key: "y", words: "Allow", isMain: true, allows: true };
        case "acceptForSession":
            return { key: "s", words: "Allow for the session", allows: true };
        case "decline":
            return { key: "n", words: "Decline" };
        case "cancel":
            return { key: isOnlyNo ? "n" : "c", words: "Decline and stop" };
    }
    const command = decision?.acceptWithExecpolicyAmendment?.execpolicy_amendment;
    if (Array.isArray(command)) {
        const pattern = command.map((word) => JSON.stringify(String(word))).join(", ");
        return { key: "a", words: "Always allow …", allows: true, rule: `prefix_rule(pattern=[${pattern}], decision="allow")` };
    }
    const network = decision?.applyNetworkPolicyAmendment?.network_policy_amendment;
    if (network) {
        const rule = `network_rule(host=${JSON.stringify(network.host)}, decision=${JSON.stringify(network.action)})`;
        return network.action === "deny"
            ? { key: "d", words: "Never allow …", rule }
            : { key: "a", words: "Always allow …", allows: true, rule };
    }
    return { key: "", words: JSON.stringify(decision), allows: true };
}

/**
 * Returns whether it is known what an approval would allow.
 * @param {Asked} asked
 * @param {Change[]} changes
 */
export function isKnown({ method, params }, changes) {
    switch (method) {
        case "item/permissions/requestApproval":
            return wishesOf(params.permissions ?? {}).length > 0;
        case "item/fileChange/requestApproval":
            return changes.length > 0;
        default:
            return Boolean(params.command || params.networkApprovalContext?.host);
    }
}
