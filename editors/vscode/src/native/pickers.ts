/** The rows of the pickers. Pure: what a row does is a command of the daemon, what it would do the daemon says. */
import { age, counted } from "../../../../web/app/model/format.js";
import { offered } from "../../../../web/app/model/settings.js";
import { titleOf, waits } from "../../../../web/app/model/threads.js";
import type { CommandDraft, CommandInfo, ContextStatus, ThreadOverview, TurnCheckpoint } from "../../../../web/app/protocol.js";

const LONGEST = 80;

export interface Row {
    readonly label: string;
    readonly description?: string;
    readonly detail?: string;
    /** what is typed for it in a chat, or the id of what it stands for */
    readonly value: string;
}

/** Returns the choices of `/clear`: how many of the turns that are in the context stay. */
export function clearRows(turns: readonly TurnCheckpoint[]): Row[] {
    const active = turns.filter((one) => one.number > 0 && !one.trimmed).reverse();
    const keeping = active.map((turn, at) => ({
        label: `Keep the last ${counted(at + 1, "turn").replace(/^1 /, "")}`,
        description: `from ${turn.number}: ${short(turn.prompt)}`,
        value: `/clear ${at + 1}`,
    }));
    // The last of them would keep all there is.
    return [...keeping.slice(0, -1), { label: "Keep nothing", description: "an empty context, the same conversation", value: "/clear" }];
}

/** Returns the turns to go back to, the newest first, and the way back from the last revert. */
export function revertRows(turns: readonly TurnCheckpoint[], hasSafety: boolean): Row[] {
    const rows = turns.slice(0, -1).reverse().map((turn) => ({
        label: turn.number === 0 ? "Before the first turn" : `After turn ${turn.number}`,
        description: [turn.number > 0 && short(turn.prompt), turn.problem && "files are not kept"].filter(Boolean).join(" · "),
        value: `/revert ${turn.number}`,
    }));
    return hasSafety ? [...rows, { label: "Take the last revert back", value: "/revert --undo" }] : rows;
}

/** Returns the turns, the newest first. */
export function turnRows(turns: readonly TurnCheckpoint[]): Row[] {
    return turns.filter((one) => one.number > 0).reverse().map(({ number, prompt, changed, trimmed }) => ({
        label: `${number}: ${short(prompt)}`,
        description: [
            changed && (changed.files ? `${counted(changed.files, "file")} +${changed.additions} −${changed.deletions}` : "no changes"),
            trimmed && "not in the context",
        ].filter(Boolean).join(" · "),
        value: String(number),
    }));
}

/** Returns the threads, those that wait first. */
export function threadRows(threads: readonly ThreadOverview[], nowMs: number): Row[] {
    return threads.map((thread) => ({ label: short(titleOf(thread)), description: facts(thread, nowMs), value: thread.id }));
}

/** Returns what a list says of a thread beside its title. */
export function facts(thread: ThreadOverview, nowMs: number): string {
    const percent = thread.context?.percent;
    return [
        waits(thread) ? "waits for you" : thread.busy !== null && "working",
        typeof percent === "number" && `${Math.round(percent)}%`,
        age(thread.updatedAt, nowMs),
    ].filter(Boolean).join(" · ");
}

/** Returns choices of a setting, the one that is in force marked. */
export function settingRows(choices: [value: string, words: string][], now: string): Row[] {
    return offered(choices, now).map(([value, words]) => ({ label: words, value, ...(value === now ? { description: "now" } : {}) }));
}

/** Returns whether a command can be typed with more than its name. */
export function takesWords({ usage }: CommandInfo): boolean {
    return /\s(?!\[--)/.test(usage.replace(/\s\[--[^\]]*\]/g, ""));
}

/** Returns the first line that a unified diff changes, counted from 0. */
export function firstLine(diff: string): number {
    const hunk = /^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@.*\n((?: .*\n)*)/m.exec(diff);
    return hunk ? Math.max(0, Number(hunk[1]) - 1 + (hunk[2]?.split("\n").length ?? 1) - 1) : 0;
}

/** Returns the command that takes a draft as the person has left it; null where nothing is to be done. */
export function accepting({ text, accept, anew }: CommandDraft, left: string): string | null {
    const words = left.trim();
    if (words === text.trim()) {
        return anew ? accept : null; // what no model wrote stands there already
    }
    return words ? `${accept} ${words}` : null;
}

/** Returns what is done when the context fills up, where that is more than to say so or was chosen; null else. */
export function autoWords(context: ContextStatus | null): string | null {
    const auto = context?.auto;
    return auto && (auto.isChosen || auto.mode === "mask" || auto.mode === "compact") ? `auto ${auto.mode}` : null;
}

/** Returns whether a version came before another one. */
export function isOlder(version: string, than: string): boolean {
    const [one, other] = [version, than].map((text) => (/^\d+(\.\d+)*/.exec(text)?.[0] ?? "").split(".").map(Number));
    const differing = other!.findIndex((part, at) => (one![at] ?? 0) !== part);
    return differing >= 0 && (one![differing] ?? 0) < other![differing]!;
}

function short(text: string): string {
    const line = text.replace(/\s+/g, " ").trim() || "…";
    return line.length > LONGEST ? `${line.slice(0, LONGEST - 1)}…` : line;
}

/** Returns lines of a file as a prompt quotes them: with their place, in a fence that they do not hold. */
export function quoted(place: string, first: number, last: number, language: string, words: string): string {
    let fence = "```";
    while (words.includes(fence)) {
        fence += "`";
    }
    return `${place}, lines ${first} to ${last}:\n${fence}${language}\n${words}\n${fence}\n`;
}
