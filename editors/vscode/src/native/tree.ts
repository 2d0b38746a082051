/** The threads of this workspace, those that wait for a person first. */
import { EventEmitter, ThemeColor, ThemeIcon, TreeItem, window, type TreeDataProvider } from "vscode";
import { counted } from "../../../../web/app/model/format.js";
import { titleOf, waits } from "../../../../web/app/model/threads.js";
import type { ThreadOverview } from "../../../../web/app/protocol.js";
import type { Threads } from "../client/threads.js";
import { facts } from "./pickers.js";

const MOST = 200;
const COLOURS: Record<string, string> = { warning: "charts.yellow", critical: "charts.red" };

export class ThreadTree implements TreeDataProvider<ThreadOverview> {
    private readonly changed = new EventEmitter<void>();
    readonly onDidChangeTreeData = this.changed.event;
    private readonly view = window.createTreeView("trimpoint.threads", { treeDataProvider: this });

    constructor(
        private readonly threads: Threads,
        onShown: () => void,
    ) {
        this.view.onDidChangeVisibility(({ visible }) => visible && onShown());
        if (this.view.visible) {
            onShown();
        }
    }

    draw(): void {
        const count = this.threads.waiting.length;
        this.view.badge = count > 0 ? { value: count, tooltip: `${counted(count, "conversation")} ${count === 1 ? "waits" : "wait"} for your answer` } : undefined;
        this.changed.fire();
    }

    getChildren(parent?: ThreadOverview): ThreadOverview[] {
        return parent ? [] : this.threads.here.slice(0, MOST);
    }

    getTreeItem(thread: ThreadOverview): TreeItem {
        const item = new TreeItem(titleOf(thread).replace(/\s+/g, " ").slice(0, 120));
        item.id = thread.id;
        item.description = facts(thread, Date.now());
        item.iconPath = iconOf(thread);
        item.tooltip = `${titleOf(thread).slice(0, 500)}\n${thread.cwd}`;
        item.command = { command: "trimpoint.openThread", title: "Open", arguments: [thread.id] };
        item.accessibilityInformation = { label: `${item.label as string}, ${item.description}` };
        return item;
    }

    dispose(): void {
        this.view.dispose();
        this.changed.dispose();
    }
}

function iconOf(thread: ThreadOverview): ThemeIcon {
    if (waits(thread)) {
        return new ThemeIcon("bell-dot", new ThemeColor("notificationsWarningIcon.foreground"));
    }
    if (thread.busy !== null) {
        return new ThemeIcon("sync~spin");
    }
    const colour = COLOURS[thread.context?.level ?? ""];
    return new ThemeIcon("comment", colour === undefined ? undefined : new ThemeColor(colour));
}
