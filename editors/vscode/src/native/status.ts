/** The status bar: how full the context is, what the agent may do, and whether it waits for a person. */
import { MarkdownString, StatusBarAlignment, ThemeColor, window } from "vscode";
import { counted, fullness } from "../../../../web/app/model/format.js";
import { APPROVALS, SANDBOXES, type Settings } from "../../../../web/app/model/settings.js";
import { titleOf } from "../../../../web/app/model/threads.js";
import { autoWords } from "./pickers.js";
import type { Threads } from "../client/threads.js";

const PRIORITY = 50;
const BACKS: Record<string, string> = { warning: "statusBarItem.warningBackground", critical: "statusBarItem.errorBackground" };

export class Status {
    private readonly item = window.createStatusBarItem("trimpoint.meter", StatusBarAlignment.Right, PRIORITY);

    constructor() {
        this.item.name = "trimpoint";
        this.item.command = "trimpoint.showStatus";
        this.lost(null);
    }

    /** Shows the thread that commands are about. */
    draw(threads: Threads): void {
        const { current, waiting } = threads;
        const context = current?.context ?? null;
        const share = context?.percent ?? null;
        const words = [
            waiting.length > 0 && `$(bell-dot) ${waiting.length === 1 ? "waits for you" : `${waiting.length} wait for you`}`,
            `${current?.busy ? "$(sync~spin)" : "$(pie-chart)"} ${share === null ? "trimpoint" : `${Math.round(share)}%`}`,
            autoWords(context) && `· ${autoWords(context)}`,
        ].filter(Boolean);
        this.item.text = words.join(" ");
        this.item.backgroundColor = BACKS[context?.level ?? ""] ? new ThemeColor(BACKS[context?.level ?? ""] ?? "") : undefined;
        const lines = [
            current ? `**${titleOf(current).replace(/[\\`*_[\]<>]/g, "\\$&").slice(0, 200)}**` : "No conversation in this folder yet.",
            context && fullness(context),
            typeof context?.cachedPercent === "number" && `${Math.round(context.cachedPercent)}% of the last call came from the provider's cache.`,
            autoWords(context) && `Automatic: ${context?.auto?.mode}.`,
            threads.settings && settingsWords(threads.settings),
            waiting.length > 0 && `${counted(waiting.length, "conversation").replace("conversations", "conversations wait").replace(/conversation$/, "conversation waits")} for your answer.`,
        ].filter((line) => typeof line === "string");
        this.item.tooltip = new MarkdownString(lines.join("\n\n"));
        this.item.accessibilityInformation = { label: `trimpoint: ${lines.join(". ").replace(/[*\\]/g, "")}` };
        this.item.show();
    }

    /** Shows that there is no daemon, and why. */
    lost(reason: string | null): void {
        this.item.text = "$(debug-disconnect) trimpoint";
        this.item.backgroundColor = undefined;
        this.item.tooltip = reason ?? "Not connected to the daemon.";
        this.item.accessibilityInformation = { label: `trimpoint: ${reason ?? "not connected"}` };
        this.item.show();
    }

    dispose(): void {
        this.item.dispose();
    }
}

/** Returns what a thread works with, and what it may do unasked. */
function settingsWords({ model, effort, sandbox, approval }: Settings): string {
    const words = (choices: [string, string][], value: unknown) => choices.find(([one]) => one === value)?.[1];
    return [[model, effort].filter(Boolean).join(" "), words(SANDBOXES, sandbox?.type), words(APPROVALS, approval)].filter(Boolean).join(" · ");
}
