/**
 * Tables of words. What is looked up may be a word of the model, such as `constructor`. Pure.
 */

/**
 * Returns the value that a table has under a name, undefined where it has none of its own.
 * @template T
 * @param {Record<string, T>} table
 * @param {unknown} name
 * @returns {T | undefined}
 */
export function own(table, name) {
    return typeof name === "string" && Object.hasOwn(table, name) ? table[name] : undefined;
}
