/**
 * What an agent did beside speaking: one line each, and all of it on a click.
 *
 * @import {Change} from "../model/changes.js"
 * @import {Entry} from "../model/shapes.js"
 * @import {LiveItem} from "../model/live.js"
 * @import {Jump} from "../store/jumps.js"
 */
import { asDiff, changesOf, counts, fileOf, placeOf } from "../model/changes.js";
import { counted, duration, pathFrom } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { own } from "../model/words.js";
import { html, useEffect, useRef, useState } from "../vendor.js";
import { Code } from "./code.js";
import { Diff } from "./diff.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";

/** @type {Record<string, [icon: string, word: string]>} */
const KINDS = {
    commandExecution: ["terminal", "Ran"],
    fileChange: ["edit", "Edited"],
    reasoning: ["thought", "Thought"],
    mcpToolCall: ["tool", "Called"],
    dynamicToolCall: ["tool", "Called"],
    webSearch: ["globe", "Searched"],
    plan: ["list", "Plan"],
    contextCompaction: ["fold", "Compacted"],
};
/** @type {Record<string, string>} */
const NOT_DONE = { declined: "declined", failed: "failed" };
/** @type {Record<string, string>} what is said of it then */
const UNDONE = { fileChange: "Not edited", commandExecution: "Not run" };
const END_LINES = 3;
const END_CHARACTERS = 1000;
const SHELL = /^\S*\/(?:ba|z|da)?sh -l?c (?:'([\s\S]*)'|"([\s\S]*)"|(\S+))$/;

/**
 * Brings an entry into sight that was looked for; returns what to set as its `ref`, and whether it is that one.
 * @param {Entry | LiveItem} entry
 * @param {Jump | null} jump
 */
export function useHit(entry, jump) {
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const isHit = entry.id === jump?.entryId;
    useEffect(() => {
        if (isHit) {
            place.current?.scrollIntoView({ block: "center" });
        }
    }, [isHit, jump]);
    return { place, isHit };
}

/** @param {{entry: Entry | LiveItem, folder?: string, jump: Jump | null}} props */
export function Activity({ entry, folder, jump }) {
    const { place, isHit } = useHit(entry, jump);
    const [isOpen, setOpen] = useState(isHit);
    useEffect(() => setOpen((before) => before || isHit), [isHit, jump]);
    const isRunning = "isDone" in entry && !entry.isDone;
    const [icon, word] = own(KINDS, entry.role) ?? ["tool", entry.role];
    const said = isRunning ? running(word) : notDone(entry) || word;
    const facts = factsOf(entry.role, entry.detail);
    const isDiscarded = "discardId" in entry && entry.discardId !== null;
    const isMasked = !isDiscarded && "isMasked" in entry && entry.isMasked;
    return html`
        <div class=${`activity ${facts.isBad ? "is-bad" : ""} ${isDiscarded ? "is-discarded" : ""} ${isHit ? "is-hit" : ""}`} ref=${place}>
            <button class="activity-line" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
                <${Icon} name=${icon} />
                <span class="activity-word">${said}</span>
                <span class=${`activity-title ${entry.role === "commandExecution" ? "is-code" : ""}`} dir="auto"
                    title=${entry.role === "fileChange" ? titleOf(entry) : undefined}>
                    ${visible(titleOf(entry, folder))}
                </span>
                ${isDiscarded && html`<span class="tag">not in context</span>`}
                ${isMasked && html`<span class="tag">output not in context</span>`}
                <span class="activity-facts">${isRunning ? html`<span class="spinner" aria-label="running"></span>` : html`${entry.detail?.approval === "allowed" && html`<span title="A person was asked, and allowed it">allowed${facts.text ? " · " : ""}</span>`}${facts.text}`}</span>
                <span class="activity-chevron"><${Icon} name="chevron" /></span>
            </button>
            ${isOpen ? html`<div class="activity-body">${bodyOf(entry, folder)}</div>` : html`<${OutputEnd} text=${entry.detail?.aggregatedOutput} />`}
        </div>
    `;
}

/** @param {Entry | LiveItem} entry */
function notDone({ role, detail }) {
    const isCommand = role === "commandExecution"; // one that failed has run
    return (isCommand ? detail?.status === "declined" : own(NOT_DONE, detail?.status)) && own(UNDONE, role);
}

/** The last lines of what a command wrote.
 * @param {{text?: string}} props
 */
function OutputEnd({ text }) {
    const lines = plain((text ?? "").slice(-END_CHARACTERS)).split("\n").filter((line) => line.trim()).slice(-END_LINES);
    return lines.length > 0 && html`<pre class="output-end" dir="ltr">${lines.map((line, at) => html`<span key=${at}>${line}</span>`)}</pre>`;
}

/** @param {string} word */
function running(word) {
    return own({ Ran: "Running", Edited: "Editing", Thought: "Thinking", Called: "Calling", Searched: "Searching" }, word) ?? word;
}

/**
 * @param {Entry | LiveItem} entry
 * @param {string} [folder]
 */
function titleOf(entry, folder) {
    const { detail } = entry;
    if (entry.role === "commandExecution") {
        // The daemon has taken off the shell that Codex wraps around a command, where it has recorded it.
        return "isDone" in entry ? commandOf(detail?.command ?? entry.text) : entry.text;
    }
    const changes = entry.role === "fileChange" ? changesOf(detail) : [];
    if (changes.length) {
        return changes.map((change) => pathFrom(placeOf(change), folder)).join(", ");
    }
    return entry.text.replaceAll("**", "").split("\n").find((line) => line.trim()) ?? "";
}

/** The command as it was meant, without the shell that Codex wraps around it.
 * @param {string} command
 */
export function commandOf(command) {
    const [, single, double, bare] = SHELL.exec(command) ?? [];
    return single?.replaceAll(`'"'"'`, "'") ?? double?.replace(/\\(["\\$`])/g, "$1") ?? bare ?? command;
}

/**
 * @param {string} role
 * @param {any} detail
 */
function factsOf(role, detail) {
    if (role === "commandExecution") {
        const took = detail?.durationMs ? duration(detail.durationMs) : "";
        const code = detail?.status === "declined" ? 0 : (detail?.exitCode ?? 0);
        const ended = code !== 0 ? `exit ${code}` : (own(NOT_DONE, detail?.status) ?? "");
        return { text: [ended, took].filter(Boolean).join(" · "), isBad: ended !== "" };
    }
    if (role === "fileChange") {
        const isBad = own(NOT_DONE, detail?.status) !== undefined;
        const changes = changesOf(detail);
        return { text: isBad ? detail.status : changes.length ? changedLines(changes) : "", isBad };
    }
    return { text: "", isBad: detail?.status === "failed" };
}


/** @param {Change[]} changes */
function changedLines(changes) {
    const { added, removed } = counts(changes);
    return html`<span class="added">+${added}</span> <span class="removed">−${removed}</span>`;
}

/**
 * @param {Entry | LiveItem} entry
 * @param {string} [folder]
 */
function bodyOf(entry, folder) {
    const { detail } = entry;
    switch (entry.role) {
        case "commandExecution":
            return html`
                <${Code} text=${commandOf(detail?.command ?? entry.text)} language="bash" />
                ${detail?.aggregatedOutput
                    ? html`<pre class="output" tabindex="0" dir="ltr">${plain(detail.aggregatedOutput)}</pre>`
                    : html`<p class="quiet">No output.</p>`}
            `;
        case "fileChange":
            return changesOf(detail).map((change) => html`<${Diff} path=${placeOf(change)} file=${fileOf(change)} folder=${folder} text=${asDiff(change)} />`);
        case "reasoning":
        case "plan":
            return html`<${Markdown} text=${[...(detail?.summary ?? []), ...(detail?.content ?? [])].join("\n\n") || entry.text} />`;
        case "contextCompaction":
            return html`<p class="quiet">Codex compacted its context here. The conversation before it can still be read.</p>`;
        default:
            return html`<${Code} text=${JSON.stringify(detail ?? entry.text, null, 2)} language="json" />`;
    }
}

/** Output as text: colours of a terminal are left out, other control characters are visible.
 * @param {string} text
 */
export function plain(text) {
    return visible(text.replace(/\u001b\[[\d;?]*[ -/]*[@-~]/g, "").replaceAll("\r", ""));
}

/**
 * Returns a sentence for several activities: "4 commands, 2 edits".
 * @param {(Entry | LiveItem)[]} entries
 */
export function summaryOf(entries) {
    /** @type {[string, string][]} */
    const nouns = [["commandExecution", "command"], ["fileChange", "edit"], ["reasoning", "thought"], ["webSearch", "search"]];
    const parts = nouns
        .map(([role, noun]) => [entries.filter((entry) => entry.role === role).length, noun])
        .filter(([count]) => count);
    const named = new Set(nouns.map(([role]) => role));
    const others = entries.filter((entry) => !named.has(entry.role)).length;
    const words = parts.map(([count, noun]) =>
        noun === "search" && count !== 1 ? `${count} searches` : counted(Number(count), String(noun)),
    );
    return [...words, ...(others ? [counted(others, "tool call")] : [])].join(", ");
}
