/**
 * What a thread works with: its model, and what it may do unasked. Pure.
 */

/** @typedef {{model: string, effort: string | null, sandbox: any, approval: any}} Settings */
/** @typedef {{model: string, name: string, efforts: string[], effort: string}} Model */

/** @type {[value: string, words: string][]} */
export const SANDBOXES = [["readOnly", "Read only"], ["workspaceWrite", "Write in the folder"], ["dangerFullAccess", "No sandbox"]];
/** @type {[value: string, words: string][]} */
export const APPROVALS = [["untrusted", "Ask unless known to be safe"], ["on-request", "Ask when the agent wants more"], ["never", "Never ask"]];

/**
 * Reads the answer to `thread/start` or `thread/resume`, or what `thread/settings/updated` has.
 * @param {any} said
 * @returns {Settings}
 */
export function settingsOf(said) {
    return {
        model: String(said.model ?? ""),
        effort: said.effort ?? said.reasoningEffort ?? null,
        sandbox: said.sandboxPolicy ?? said.sandbox ?? {},
        approval: said.approvalPolicy ?? null,
    };
}

/**
 * Reads the answer to `model/list`, without hidden models.
 * @param {any} answer
 * @returns {Model[]}
 */
export function modelsOf(answer) {
    return (answer.data ?? []).filter((/** @type {any} */ one) => !one.hidden).map((/** @type {any} */ one) => ({
        model: one.model ?? one.id, name: one.displayName ?? one.model ?? one.id, effort: one.defaultReasoningEffort ?? "",
        efforts: (one.supportedReasoningEfforts ?? []).map((/** @type {any} */ effort) => effort.reasoningEffort),
    }));
}

/**
 * Returns choices with the value that is in force among them, whatever it is.
 * @param {[value: string, words: string][]} choices
 * @param {string} value
 * @param {string} [words]
 */
export function offered(choices, value, words = value) {
    return value === "" || choices.some(([one]) => one === value) ? choices : [...choices, /** @type {[string, string]} */ ([value, words])];
}
