/**
 * Code with colours, and a button that copies it. Colours come from Prism's tokens; no HTML is ever parsed.
 */
import { visible } from "../model/hidden.js";
import { html, signal, useEffect, useMemo, useState } from "../vendor.js";
import { Icon } from "./icons.js";

const COPIED_FOR_MS = 1500;
/** @typedef {typeof import("../colours.js").tokensOf} Colours */

/** Null until they are there: what is read need not wait for its colours. */
const colours = signal(/** @type {Colours | null} */ (null));
/** @type {Promise<void> | null} */
let asked = null;

function loadColours() {
    // It is bundled apart, and stands beside the bundle that this becomes a part of.
    asked ??= import(new URL("colours.js", import.meta.url).href).then(
        (loaded) => {
            colours.value = loaded.tokensOf;
        },
        () => {
            asked = null; // the connection was lost: the next code asks again
        },
    );
}

/** @param {{text: string, language?: string}} props */
export function Code({ text, language = "" }) {
    const lines = useLines(visible(text), language);
    return html`
        <div class="code">
            <div class="code-bar"><span class="code-language">${language}</span><${CopyButton} text=${text} what="code" /></div>
            <pre tabindex="0" dir="ltr"><code>${lines.map((line, at) => [at ? "\n" : "", line])}</code></pre>
        </div>
    `;
}

/** @param {{text: string, what: string}} props */
export function CopyButton({ text, what }) {
    const [outcome, setOutcome] = useState("");
    const copy = async () => {
        try {
            await navigator.clipboard.writeText(text);
            setOutcome("Copied");
        } catch {
            setOutcome("Not copied: the browser does not allow it"); // it does only on secure pages, and if the person agrees
        }
        setTimeout(() => setOutcome(""), COPIED_FOR_MS);
    };
    const label = outcome || `Copy ${what}`;
    return html`<button class="icon-button" onClick=${copy} aria-label=${label} title=${label}>
        <${Icon} name=${outcome === "Copied" ? "check" : outcome ? "warn" : "copy"} />
    </button>`;
}

/**
 * Returns the lines of a text, with the colours of its language where they are there.
 * @param {string} text
 * @param {string} language or the ending of a file's name
 * @returns {any[]}
 */
export function useLines(text, language) {
    const tokensOf = colours.value;
    useEffect(loadColours, []);
    return useMemo(() => {
        const tokens = tokensOf?.(text, language);
        return tokens ? linesOf(tokens) : text.split("\n");
    }, [tokensOf, text, language]);
}

/**
 * @param {any} content of a token: words, a token, or several of both
 * @returns {any[][]}
 */
export function linesOf(content) {
    if (typeof content === "string") {
        return content.split("\n").map((line) => [line]);
    }
    /** @type {any[][]} */
    const lines = [[]];
    for (const token of [content].flat()) {
        const parts = typeof token === "string"
            ? linesOf(token)
            : linesOf(token.content).map((part) => [html`<span class=${[token.type, token.alias].flat().map((name) => name && `token-${name}`).join(" ")}>${part}</span>`]);
        lines.at(-1)?.push(...parts[0]);
        lines.push(...parts.slice(1));
    }
    return lines;
}
