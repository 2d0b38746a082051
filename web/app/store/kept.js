/**
 * What the browser keeps for the page over a reload: drafts, and choices of the person. Where nothing can be kept, it is
 * known until the page is left.
 */

const PREFIX = "trimpoint ";

/**
 * Returns what was kept under a name, null where there is nothing.
 * @param {string} name
 * @returns {any}
 */
export function read(name) {
    try {
        return JSON.parse(localStorage.getItem(PREFIX + name) ?? "null");
    } catch {
        return null;
    }
}

/**
 * Keeps a value under a name; null keeps nothing.
 * @param {string} name
 * @param {any} value
 */
export function keep(name, value) {
    try {
        if (value === null) {
            localStorage.removeItem(PREFIX + name);
        } else {
            localStorage.setItem(PREFIX + name, JSON.stringify(value));
        }
    } catch {
        return; // it is full, or the browser keeps nothing
    }
}

/**
 * Returns the names that begin with `beginning` under which something is kept.
 * @param {string} beginning
 */
export function names(beginning) {
    try {
        const all = Object.keys(localStorage).filter((name) => name.startsWith(PREFIX + beginning));
        return all.map((name) => name.slice(PREFIX.length));
    } catch {
        return [];
    }
}

/** @type {Promise<IDBDatabase> | null} */
let opened = null;

/** Images are too large for what is kept by `keep`. */
function images() {
    opened ??= new Promise((resolve, reject) => {
        const request = indexedDB.open("trimpoint", 1);
        request.onupgradeneeded = () => request.result.createObjectStore("images");
        request.onsuccess = () => resolve(request.result);
        request.onerror = () => reject(request.error);
    });
    return opened;
}

/**
 * @param {string} threadId
 * @param {string[]} urls
 */
export async function keepImages(threadId, urls) {
    try {
        const store = (await images()).transaction("images", "readwrite").objectStore("images");
        if (urls.length) {
            store.put(urls, threadId);
        } else {
            store.delete(threadId);
        }
    } catch {
        return;
    }
}

/**
 * @param {string} threadId
 * @returns {Promise<string[]>}
 */
export async function readImages(threadId) {
    try {
        const store = (await images()).transaction("images").objectStore("images");
        return await new Promise((resolve, reject) => {
            const request = store.get(threadId);
            request.onsuccess = () => resolve(request.result ?? []);
            request.onerror = () => reject(request.error);
        });
    } catch {
        return [];
    }
}
