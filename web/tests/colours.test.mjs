// Code has the colours of its language, line by line, and nothing of it is lost or takes long.
import assert from "node:assert/strict";
import { test } from "node:test";
import { renderToString } from "preact-render-to-string";
import { tokensOf } from "../app/colours.js";
import { html } from "../app/vendor.js";
import { linesOf } from "../app/view/code.js";

const LANGUAGES = "bash c cpp css diff docker go ini java json jsx kotlin markup python ruby rust sql tsx typescript yaml".split(" ");
const PIECES = ['"', "'", "`", "/", "/*", "(", "{", "<", "<a ", "\\", "#", "$(", "${", " ", "\n", "a", "- ", ": ", "'''", "<!--", "|\n ", 'r#"', "class ", "\\\n"];

/** Returns the lines of a text as HTML. */
const drawn = (text, language) => linesOf(tokensOf(text, language) ?? text).map((line) => renderToString(html`<i>${line}</i>`));

/** Returns the words of HTML that has no other elements than i and span. */
const wordsOf = (text) => text.replace(/<[^>]*>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"').replaceAll("&amp;", "&");

test("each language has its keywords, by its name and by the ending of a file", () => {
    for (const [language, text, kind] of [
        ["python", "return 1", "keyword"], ["py", "return 1", "keyword"], ["js", "return 1", "keyword"], ["TS", "interface A {}", "keyword"],
        ["tsx", "const a = <b>it's</b>;", "tag"], ["rs", "fn a() {}", "keyword"], ["sh", "if true; then", "keyword"], ["h", "int a;", "keyword"],
        ["html", "<b>x</b>", "tag"], ["css", "a { color: red }", "property"], ["yml", "a: true", "key"], ["toml", "[a]", "section"],
        ["dockerfile", "FROM a", "keyword"], ["kt", "fun a() {}", "keyword"], ["sql", "SELECT 1", "keyword"], ["go", "func a() {}", "keyword"],
        ["patch", "+a\n-b", "inserted"], ["json", "true", "boolean"], ["java", "class A {}", "keyword"], ["cc", "namespace a {}", "keyword"],
        ["rb", "unless a", "keyword"], ["ruby", "a = \"#{b} c\" # d", "string"], ["php", "function a() {}", "keyword"],
    ]) {
        assert.match(drawn(text, language).join(""), new RegExp(`token-${kind}\\b`), language);
    }
});

test("what is no language has no colours", () => {
    for (const name of ["", "constructor", "__proto__", "toString", "extend", "insertBefore", "DFS", "none such", "\u202ejs"]) {
        assert.equal(tokensOf("return 1", name), null, name);
    }
});

test("a part over several lines has its colour in each, and no letter is lost", () => {
    assert.deepEqual(
        drawn('a = """x\ny\n"""', "python").map((line) => line.includes("token-triple-quoted-string")),
        [true, true, true],
    );
    for (const language of LANGUAGES) {
        for (const piece of PIECES) {
            const text = `${piece.repeat(40)}\n${piece}${PIECES.join("")}end`;
            assert.equal(drawn(text, language).map(wordsOf).join("\n"), text, language);
        }
    }
});

test("a text that would take long is left as it is", () => {
    assert.equal(tokensOf("a".repeat(1001), "js"), null);
    assert.equal(tokensOf("a\n".repeat(20_000), "js"), null);
    assert.notEqual(tokensOf("a\n".repeat(5000), "js"), null);
});
