// The colours of languages: a file of its own, which is loaded when there is code to show.
import Prism from "prismjs/components/prism-core.js";
import "prismjs/components/prism-markup.js";
import "prismjs/components/prism-css.js";
import "prismjs/components/prism-clike.js";
import "prismjs/components/prism-javascript.js";
import "prismjs/components/prism-jsx.js";
import "prismjs/components/prism-typescript.js";
import "prismjs/components/prism-tsx.js";
import "prismjs/components/prism-bash.js";
import "prismjs/components/prism-c.js";
import "prismjs/components/prism-cpp.js";
import "prismjs/components/prism-diff.js";
import "prismjs/components/prism-docker.js";
import "prismjs/components/prism-go.js";
import "prismjs/components/prism-ini.js";
import "prismjs/components/prism-java.js";
import "prismjs/components/prism-json.js";
import "prismjs/components/prism-kotlin.js";
import "prismjs/components/prism-python.js";
import "prismjs/components/prism-rust.js";
import "prismjs/components/prism-sql.js";
import "prismjs/components/prism-yaml.js";

// Prism's own for Ruby would be twelve times as long.
Prism.languages.ruby = Object.assign({}, Prism.languages.python, {
    keyword: /\b(?:alias|and|begin|break|case|class|def|do|else|elsif|end|ensure|for|if|in|include|module|next|not|or|private|raise|redo|require|rescue|retry|return|self|super|then|undef|unless|until|when|while|yield)\b/,
    boolean: /\b(?:true|false|nil)\b/,
});

// Of some texts the grammars read each letter again for each other one of its line, or of all.
const LONGEST_TEXT = 20_000;
const HAS_LONG_LINE = /.{1001}/;

/** Names that Prism does not have: endings of files, and languages that are near enough to one that is sent. */
const NAMES = new Map(Object.entries({
    bash: "console fish zsh", cpp: "c++ cc cxx h hh hpp", css: "less scss", diff: "patch", go: "golang",
    ini: "cfg conf properties toml", java: "cs csharp groovy scala swift", json: "json5 jsonc jsonl", markup: "vue svelte xhtml",
    jsx: "cjs js javascript mjs", python: "pyi", ruby: "rb", rust: "rs", typescript: "cts mts php",
}).flatMap(([name, others]) => others.split(" ").map((other) => /** @type {const} */ ([other, name]))));

/**
 * Returns the tokens of a text, null if the language is none that is known, or the text too long to be looked at at once.
 * @param {string} text
 * @param {string} language
 */
export function tokensOf(text, language) {
    const name = language.toLowerCase();
    const known = NAMES.get(name) ?? name;
    if (text.length > LONGEST_TEXT || HAS_LONG_LINE.test(text)) {
        return null;
    }
    const grammar = Object.hasOwn(Prism.languages, known) ? Prism.languages[known] : null;
    return grammar && typeof grammar === "object" ? Prism.tokenize(text, grammar) : null; // its functions stand there, too
}
