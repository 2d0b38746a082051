/**
 * What the agent asked and a person answered in this browser: Codex records neither. Pure.
 */

/** @typedef {{turnId: string, after: string | null, question: string, answer: string}} Answered `after` is the entry above it */

/**
 * Puts answers between the entries of a turn, each where it was given.
 * @template {{id: string}} T
 * @param {T[]} entries
 * @param {Answered[]} answered those of the turn, oldest first
 * @returns {(T | Answered)[]}
 */
export function withAnswers(entries, answered) {
    return [null, ...entries].flatMap((entry) => [
        ...(entry ? [entry] : []), ...answered.filter((one) => one.after === (entry?.id ?? null)),
    ]);
}
