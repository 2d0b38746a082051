/**
 * Permissions that an agent asks for, in words. Pure.
 */
import { own } from "./words.js";

/** @typedef {{words: string, path?: string}} Wish */

/**
 * Returns what is asked for, each once. What has no words here is given as it came: nothing is granted unseen.
 * @param {Record<string, any>} permissions
 * @returns {Wish[]}
 */
export function wishesOf(permissions) {
    const { network, fileSystem, ...others } = permissions;
    const { read, write, entries, ...otherFiles } = fileSystem ?? {};
    /** @type {Wish[]} */
    const wishes = [
        ...(network ? [onNetwork(network)] : []),
        ...(read ?? []).map((/** @type {string} */ path) => ({ words: "Read", path })),
        ...(write ?? []).map((/** @type {string} */ path) => ({ words: "Write", path })),
        ...(entries ?? []).map(onEntry),
        ...[...Object.entries(otherFiles), ...Object.entries(others)]
            .filter(([, value]) => value !== null)
            .map(([name, value]) => ({ words: `${name}: ${JSON.stringify(value)}` })),
    ];
    return [...new Map(wishes.map((wish) => [JSON.stringify(wish), wish])).values()];
}

/** @param {any} network */
function onNetwork(network) {
    const isPlain = Object.keys(network).every((name) => name === "enabled") && network.enabled === true;
    return { words: isPlain ? "Reach the network" : `Network: ${JSON.stringify(network)}` };
}

/**
 * @param {{access: string, path: any}} entry
 * @returns {Wish}
 */
function onEntry({ access, path }) {
    const words = own({ read: "Read", write: "Write" }, access) ?? `Access “${access}”`;
    return { words, path: path?.path ?? path?.pattern ?? JSON.stringify(path?.value ?? path) };
}
