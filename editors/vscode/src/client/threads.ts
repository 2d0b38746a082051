/** The threads in short, asked for anew when something has changed, and the one that is shown. */
import { waits } from "../../../../web/app/model/threads.js";
import type { Settings } from "../../../../web/app/model/settings.js";
import type { ContextStatus, Notice, SnapshotResult, ThreadOverview } from "../../../../web/app/protocol.js";

const LIST_CHANGED = new Set([
    "thread/started", "thread/archived", "thread/unarchived", "thread/deleted", "thread/name/updated", "thread/status/changed",
    "orchestration/event",
]);
const REFRESH_AFTER_MS = 150; // once for many changes
// A long list costs much, and need not be as new.
const MANY = 300;
const REFRESH_MANY_MS = 3000;

export interface Asks {
    request<Answer>(method: string, params?: object): Promise<Answer>;
}

export class Threads {
    private all: ThreadOverview[] | null = null;
    private followed: string | null = null;
    private timer: NodeJS.Timeout | undefined;
    private askedAt = 0;
    /** The thread that the page shows. */
    shown: string | null = null;
    /** What the shown thread works with, where the page knows it. */
    settings: Settings | null = null;

    constructor(
        private readonly session: Asks,
        private readonly folders: () => readonly string[],
        private readonly onChange: () => void,
        /** Something that a person who looks elsewhere may want to know of a thread of the workspace. */
        private readonly onNotice: (notice: Notice) => void,
    ) {}

    /** The threads of the workspace's folders that are not archived, the newest first; of all folders where there is none. */
    get here(): ThreadOverview[] {
        return (this.all ?? [])
            .filter((one) => !one.archived && this.isHere(one.cwd))
            .sort((one, other) => Number(waits(other)) - Number(waits(one)) || other.updatedAt.localeCompare(one.updatedAt));
    }

    private isHere(path: string): boolean {
        const folders = this.folders();
        return folders.length === 0 || folders.some((folder) => isInside(path, folder));
    }

    /** Whether the list was read. */
    get isKnown(): boolean {
        return this.all !== null;
    }

    /** The thread that commands are about: the one that is shown, else the newest of the workspace. */
    get current(): ThreadOverview | null {
        const newest = [...this.here].sort((one, other) => other.updatedAt.localeCompare(one.updatedAt))[0];
        return (this.all ?? []).find((one) => one.id === this.shown) ?? newest ?? null;
    }

    get waiting(): ThreadOverview[] {
        return this.here.filter(waits);
    }

    async refresh(): Promise<void> {
        clearTimeout(this.timer);
        this.askedAt = Date.now();
        const { threads } = await this.session.request<SnapshotResult>("orchestration/snapshot");
        this.all = threads;
        this.follow();
        this.onChange();
    }

    /** Notes what the page shows. */
    show(threadId: string | null, settings: Settings | null): void {
        this.shown = threadId;
        this.settings = settings;
        this.follow();
        this.onChange();
    }

    onReady(): void {
        this.followed = null;
        this.session.request("orchestration/subscribeNotices").catch(() => {}); // an older daemon has none
        this.refreshSoon();
    }

    onNotification(method: string, params: Record<string, unknown>): void {
        if (LIST_CHANGED.has(method)) {
            this.refreshSoon();
        } else if (method === "context/updated") {
            const context = params as ContextStatus;
            this.all = this.all?.map((one) => (one.id === context.threadId ? { ...one, context } : one)) ?? null;
            this.onChange();
        } else if (method === "orchestration/notice" && this.isHere(String(params.folder))) {
            this.onNotice(params as unknown as Notice);
        }
    }

    dispose(): void {
        clearTimeout(this.timer);
    }

    private refreshSoon(): void {
        clearTimeout(this.timer);
        const pause = (this.all?.length ?? 0) > MANY ? this.askedAt + REFRESH_MANY_MS - Date.now() : 0;
        this.timer = setTimeout(() => this.refresh().catch(() => {}), Math.max(REFRESH_AFTER_MS, pause));
    }

    /** Follows the events of the current thread: its meter comes with them. */
    private follow(): void {
        const id = this.current?.id ?? null;
        if (id === this.followed) {
            return;
        }
        const before = this.followed;
        this.followed = id;
        const ask = (method: string, params: object) => void this.session.request(method, params).catch(() => {});
        if (before !== null) {
            ask("orchestration/unsubscribeThread", { threadId: before });
        }
        if (id !== null) {
            ask("orchestration/subscribeThread", { threadId: id, turns: 0 });
        }
    }
}

function isInside(path: string, folder: string): boolean {
    return path === folder || path.startsWith(`${folder.replace(/\/+$/, "")}/`);
}
