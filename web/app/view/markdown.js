/**
 * Markdown as elements. A model wrote it, so it is shown and never obeyed: HTML in it is text, an image is a link, and a
 * link leads to the web or nowhere.
 *
 * @import {Token, Tokens} from "../vendor.js"
 */
import { GrowingMarkdown, safeLink } from "../model/markdown.js";
import { counted, shortCount } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { own } from "../model/words.js";
import { Component, entities, h, html, useRef, useState } from "../vendor.js";
import { Code } from "./code.js";

const UPPERMOST = 3;
const LONGEST = 100_000;
const LONGEST_REST = 400_000;
const TAIL = 4000;
const MOST_CELLS = 1500;

/**
 * What the agent said. Of a text that is longer than anybody reads the beginning is Markdown, and the rest plain text on a
 * click; while it grows, its end is shown.
 * @param {{text: string, isGrowing?: boolean}} props
 */
export function Answer({ text, isGrowing = false }) {
    const [isWhole, setWhole] = useState(false);
    if (text.length <= LONGEST) {
        return html`<${Markdown} text=${text} />`;
    }
    const end = text.lastIndexOf("\n", LONGEST);
    const cut = end > LONGEST / 2 ? end : LONGEST;
    const rest = isGrowing ? `… ${text.slice(Math.max(cut, text.length - TAIL))}` : text.slice(cut, cut + LONGEST_REST);
    const left = text.length - cut - rest.length;
    return html`
        <${Markdown} text=${text.slice(0, cut)} />
        ${isWhole || isGrowing
            ? html`<pre class="output" tabindex="0" dir="ltr" aria-label="The rest of a long answer">${rest}</pre>`
            : html`<button class="button is-small" onClick=${() => setWhole(true)}>
                  Show the other ${shortCount(text.length - cut)} characters as plain text</button>`}
        ${isWhole && left > 0 && html`<p class="quiet">${shortCount(left)} more characters: copy the answer to read them elsewhere.</p>`}
    `;
}

/** @param {{text: string}} props */
export function Markdown({ text }) {
    const reader = useRef(/** @type {GrowingMarkdown | null} */ (null));
    reader.current ??= new GrowingMarkdown();
    const blocks = reader.current.read(text);
    const top = Math.min(...blocks.map((token) => (token.type === "heading" ? token.depth : 6)));
    return html`<div class="markdown">
        ${blocks.map((token, at) => html`<${Block} key=${at} token=${token} top=${top} />`)}
    </div>`;
}

/** @extends {Component<{token: Token, top: number}>} */
class Block extends Component {
    /** @param {{token: Token, top: number}} next */
    shouldComponentUpdate(next) {
        return next.token !== this.props.token || next.top !== this.props.top;
    }

    render() {
        const { token, top } = this.props;
        if (token.type !== "heading") {
            return block(token, 0);
        }
        // The turn has a heading of its own, below which the highest of these stands.
        const level = Math.min(token.depth - top + UPPERMOST, 6);
        return h(`h${level}`, { dir: "auto" }, inline(token.tokens));
    }
}

/**
 * @param {Token} token
 * @param {number} at
 * @returns {any}
 */
function block(token, at) {
    switch (token.type) {
        case "heading": // within a list or a quotation
            return html`<p dir="auto" key=${at}><strong>${inline(token.tokens)}</strong></p>`;
        case "paragraph":
            return html`<p dir="auto" key=${at}>${inline(token.tokens)}</p>`;
        case "code":
            return html`<${Code} key=${at} text=${token.text} language=${(token.lang ?? "").split(/\s/)[0]} />`;
        case "blockquote":
            return html`<blockquote dir="auto" key=${at}>${blocks(token.tokens)}</blockquote>`;
        case "list":
            return list(/** @type {Tokens.List} */ (token), at);
        case "table":
            return html`<${Table} key=${at} token=${/** @type {Tokens.Table} */ (token)} />`;
        case "hr":
            return html`<hr key=${at} />`;
        case "space":
        case "def":
            return null;
        case "html":
            return html`<p dir="auto" key=${at}>${token.raw.trim()}</p>`;
        default:
            return "tokens" in token && token.tokens ? html`<span key=${at}>${inline(token.tokens)}</span>` : inlineOne(token, at);
    }
}

/** @param {Token[] | undefined} tokens */
function blocks(tokens) {
    return (tokens ?? []).map(block);
}

/**
 * @param {Tokens.List} token
 * @param {number} at
 */
function list(token, at) {
    const items = token.items.map(
        (item, index) => html`<li dir="auto" key=${index} class=${item.task ? "task" : ""}>
            ${item.task && html`<input type="checkbox" disabled checked=${item.checked} aria-label=${item.checked ? "done" : "to do"} />`}
            ${blocks(item.tokens.filter((one) => one.type !== "checkbox"))}
        </li>`,
    );
    const start = token.ordered && token.start !== 1 ? token.start : undefined;
    return h(token.ordered ? "ol" : "ul", { key: at, start, dir: "auto" }, items);
}

/** Of a table that is larger than anybody reads, the first rows are shown, and all on a click.
 * @param {{token: Tokens.Table}} props
 */
function Table({ token }) {
    const [isWhole, setWhole] = useState(false);
    const most = Math.max(1, Math.floor(MOST_CELLS / token.header.length));
    const rows = isWhole ? token.rows : token.rows.slice(0, most);
    /** @param {Tokens.TableCell} cell */
    const side = (cell) => (cell.align ? `align-${cell.align}` : "");
    return html`
        <div class="table" tabindex="0" role="region" aria-label="Table">
            <table>
                <thead><tr>${token.header.map((cell) => html`<th class=${side(cell)} dir="auto">${inline(cell.tokens)}</th>`)}</tr></thead>
                <tbody>
                    ${rows.map(
                        (row) => html`<tr>${row.map((cell) => html`<td class=${side(cell)} dir="auto">${inline(cell.tokens)}</td>`)}</tr>`,
                    )}
                </tbody>
            </table>
        </div>
        ${rows.length < token.rows.length && html`<button class="button is-small" onClick=${() => setWhole(true)}>
            Show the other ${counted(token.rows.length - rows.length, "row")}</button>`}
    `;
}

/**
 * @param {Token[] | undefined} tokens
 * @returns {any[]}
 */
function inline(tokens) {
    return (tokens ?? []).map(inlineOne);
}

/**
 * @param {Token} token
 * @param {number} at
 * @returns {any}
 */
function inlineOne(token, at) {
    switch (token.type) {
        case "strong":
        case "em":
        case "del":
            return h(token.type, { key: at }, inline(token.tokens));
        case "codespan":
            return html`<code key=${at}>${visible(token.text)}</code>`;
        case "br":
            return html`<br key=${at} />`;
        case "link":
            return link(token.href, inline(token.tokens), token.text, at);
        case "image":
            return link(token.href, token.text || token.href, token.text, at);
        case "html":
            return visible(token.raw);
        case "text":
            return "tokens" in token && token.tokens ? html`<span key=${at}>${inline(token.tokens)}</span>` : visible(unescaped(token.text));
        default:
            return visible(unescaped("text" in token ? token.text : token.raw));
    }
}

/**
 * @param {string} href
 * @param {any} label
 * @param {string} text what the label reads as
 * @param {number} at
 */
function link(href, label, text, at) {
    const safe = safeLink(href);
    return safe === null
        ? html`<span key=${at} class="no-link" title=${visible(href)}>${label}</span>`
        : html`<a key=${at} href=${safe} title=${visible(safe)} target="_blank" rel="noreferrer noopener">${label}</a>${otherHost(text, safe)}`;
}

/**
 * Names where a link leads whose label names another place.
 * @param {string} label
 * @param {string} href
 */
function otherHost(label, href) {
    const host = URL.canParse(href) ? new URL(href).host : "";
    const namesPlace = /[\p{L}\p{N}-]\.\p{L}{2,}/u.test(label);
    return host && namesPlace && !label.toLowerCase().includes(host) && html` <span class="quiet">(${host})</span>`;
}

/** @param {string} text */
function unescaped(text) {
    return text.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|(\w{2,8}));/gi, (whole, decimal, hex, name) => {
        const code = decimal ? Number(decimal) : hex ? Number.parseInt(hex, 16) : 0;
        return code > 0 && code < 0x110000 ? String.fromCodePoint(code) : (own(entities, name) ?? (name === "apos" ? "'" : whole));
    });
}
