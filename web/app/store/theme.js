/**
 * Light or dark: as the system has it, until a person chooses for this browser.
 */
import { signal } from "../vendor.js";
import { keep, read } from "./kept.js";

/** @typedef {"system" | "light" | "dark"} Theme */

/** @type {Theme[]} */
export const THEMES = ["system", "light", "dark"];
const QUERY = "(prefers-color-scheme: dark)";

export const theme = signal(THEMES.find((one) => one === read("theme")) ?? "system");
/** @type {CSSMediaRule[] | null} what the style sheet has for dark systems */
let dark = null;

/** Shows the page in the theme that was chosen. */
export function showTheme() {
    const now = theme.value;
    dark ??= [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).filter((rule) => rule instanceof CSSMediaRule && rule.conditionText === QUERY).map((rule) => /** @type {CSSMediaRule} */ (rule));
    for (const rule of dark) {
        rule.media.mediaText = now === "system" ? QUERY : now === "dark" ? "all" : "not all";
    }
    document.documentElement.style.colorScheme = now === "system" ? "" : now;
}

/** @param {Theme} chosen */
export function chooseTheme(chosen) {
    theme.value = chosen;
    keep("theme", chosen === "system" ? null : chosen);
    showTheme();
}
