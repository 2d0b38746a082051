/**
 * Code with colours, and a button that copies it. Colours come from lowlight's tree; no HTML is ever parsed.
 */
import { visible } from "../model/hidden.js";
import { html, signal, useEffect, useMemo, useState } from "../vendor.js";
import { Icon } from "./icons.js";

const LONGEST_COLOURED = 50_000;
const COPIED_FOR_MS = 1500;
/** @typedef {import("../colours.js").Colours} Colours */

/** Null until they are there: what is read need not wait for its colours. */
const colours = signal(/** @type {Colours | null} */ (null));
/** @type {Promise<void> | null} */
let asked = null;

function loadColours() {
    // It is bundled apart, and stands beside the bundle that this becomes a part of.
    asked ??= import(new URL("colours.js", import.meta.url).href).then(
        (loaded) => {
            colours.value = loaded.lowlight;
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
    const palette = colours.value;
    useEffect(loadColours, []);
    return useMemo(() => {
        const isKnown = palette && text.length <= LONGEST_COLOURED && palette.registered(language);
        return isKnown ? linesOf(palette.highlight(language, text).children) : text.split("\n");
    }, [palette, text, language]);
}

/**
 * @param {any[]} children
 * @returns {any[][]}
 */
function linesOf(children) {
    /** @type {any[][]} */
    const lines = [[]];
    for (const node of children) {
        const parts = node.type === "text"
            ? node.value.split("\n")
            : linesOf(node.children).map((part) => html`<span class=${node.properties.className.join(" ")}>${part}</span>`);
        lines.at(-1)?.push(parts[0]);
        lines.push(...parts.slice(1).map((/** @type {any} */ part) => [part]));
    }
    return lines;
}
