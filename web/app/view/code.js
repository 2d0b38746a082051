/**
 * Code with colours, and a button that copies it. Colours come from lowlight's tree; no HTML is ever parsed.
 */
import { visible } from "../model/hidden.js";
import { own } from "../model/words.js";
import { html, signal, useEffect, useMemo, useState } from "../vendor.js";
import { Icon } from "./icons.js";

const LONGEST_COLOURED = 50_000;
const COPIED_FOR_MS = 1500;
/** @type {Record<string, string>} */
const ALIASES = { sh: "bash", zsh: "bash", console: "shell", py: "python", js: "javascript", jsx: "javascript", ts: "typescript",
    tsx: "typescript", html: "xml", svg: "xml", yml: "yaml", toml: "ini", rs: "rust", golang: "go", c: "cpp", h: "cpp", "c++": "cpp", patch: "diff" };

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
    const palette = colours.value;
    const nodes = useMemo(() => coloured(palette, visible(text), language), [palette, text, language]);
    useEffect(loadColours, []);
    return html`
        <div class="code">
            <div class="code-bar"><span class="code-language">${language}</span><${CopyButton} text=${text} what="code" /></div>
            <pre tabindex="0" dir="ltr"><code>${nodes}</code></pre>
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
 * @param {Colours | null} palette
 * @param {string} text
 * @param {string} language
 */
function coloured(palette, text, language) {
    const name = language.toLowerCase();
    const known = own(ALIASES, name) ?? name;
    if (!palette || text.length > LONGEST_COLOURED || !palette.registered(known)) {
        return text;
    }
    return nodesOf(palette.highlight(known, text).children);
}

/**
 * @param {any[]} children
 * @returns {any[]}
 */
function nodesOf(children) {
    return children.map((node) =>
        node.type === "text"
            ? node.value
            : html`<span class=${node.properties.className.join(" ")}>${nodesOf(node.children)}</span>`,
    );
}
