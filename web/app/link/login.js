/**
 * The login of this browser, which the page of `/login` keeps. It is no cookie: a browser sends those to every port of the
 * machine, so that a link to another server would hand it over.
 */

const KEY = "trimpoint-login";

/** @returns {string | null} */
export function keptLogin() {
    try {
        return localStorage.getItem(KEY);
    } catch {
        return null; // this browser keeps nothing
    }
}
