/** The conversation: the page in a view of the side bar, and in tabs. */
import { randomBytes } from "node:crypto";
import {
    commands, Uri, ViewColumn, window, type Disposable, type Webview, type WebviewPanel, type WebviewPanelSerializer, type WebviewView,
    type WebviewViewProvider,
} from "vscode";
import type { FromEditor } from "../../../../web/app/link/messages.js";
import { Unreachable } from "../daemon/daemon.js";
import { Bridge, type BridgeHost, type Shown } from "./bridge.js";
import { missingDocument, pageDocument, type PageFiles } from "./document.js";

export const VIEW = "trimpoint.chat";
export const TAB = "trimpoint.tab";
const MISSING_COMMANDS = ["trimpoint.install", "trimpoint.retry", "workbench.action.openSettings"];
const PATIENCE_MS = 30_000;

export interface ChatHost {
    connect: BridgeHost["connect"];
    onShown(threadId: string | null, settings: Shown["settings"]): void;
    onProblem(error: Error): void;
    /** Returns the address that a new page begins at. */
    address(): string;
}

interface Home {
    readonly webview: Webview;
    readonly kind: "view" | "tab";
    readonly bridge: Bridge;
    isMissing: boolean;
    /** what it shows; undefined until the page has said so */
    shown: string | null | undefined;
    settings: Shown["settings"];
    reveal(): void;
    isVisible(): boolean;
}

export class Chat implements WebviewViewProvider, WebviewPanelSerializer {
    private readonly homes = new Set<Home>();
    private active: Home | null = null;
    private waiting: { until: (home: Home) => boolean; act: (home: Home) => void }[] = [];

    constructor(
        private readonly extension: Uri,
        private readonly host: ChatHost,
    ) {}

    /** Registers the view and its tabs. */
    register(): Disposable[] {
        const kept = { webviewOptions: { retainContextWhenHidden: true } };
        return [window.registerWebviewViewProvider(VIEW, this, kept), window.registerWebviewPanelSerializer(TAB, this)];
    }

    resolveWebviewView(view: WebviewView): void {
        const home = this.settle(view.webview, "view", () => view.show(), () => view.visible);
        view.onDidDispose(() => this.leave(home));
        view.onDidChangeVisibility(() => this.changed(home, view.visible));
    }

    deserializeWebviewPanel(panel: WebviewPanel): Promise<void> {
        this.settlePanel(panel);
        return Promise.resolve();
    }

    openTab(): void {
        const panel = window.createWebviewPanel(TAB, "trimpoint", ViewColumn.Active, { retainContextWhenHidden: true });
        this.settlePanel(panel);
    }

    /** Whether a person sees this thread now. */
    isSeen(threadId: string): boolean {
        return window.state.focused && [...this.homes].some((home) => home.isVisible() && home.shown === threadId);
    }

    /** Shows the conversation. */
    async reveal(): Promise<void> {
        if (this.active) {
            this.active.reveal();
        } else {
            await commands.executeCommand(`${VIEW}.focus`);
        }
    }

    /** Shows a thread, and has the page do something in it; null is whatever thread it shows. */
    async choose(threadId: string | null, name: string, argument = ""): Promise<void> {
        await this.reveal();
        const has = (home: Home) => (threadId === null ? home.shown !== undefined : home.shown === threadId);
        const act = (home: Home) => post(home, { type: "chosen", name, argument });
        if (threadId !== null) {
            this.soon((home) => home.shown !== undefined, (home) => has(home) || post(home, { type: "chosen", name: "thread", argument: threadId }));
        }
        this.soon(has, act);
    }

    /** Shows a thread. */
    async show(threadId: string): Promise<void> {
        await this.reveal();
        this.soon((home) => home.shown !== undefined, (home) => post(home, { type: "chosen", name: "thread", argument: threadId }));
    }

    /** Loads the pages that could not be shown anew. */
    retry(): void {
        for (const home of this.homes) {
            if (home.isMissing) {
                this.load(home);
            }
        }
    }

    dispose(): void {
        this.homes.forEach((home) => home.bridge.dispose());
    }

    private settlePanel(panel: WebviewPanel): void {
        panel.iconPath = Uri.joinPath(this.extension, "media", "icon.png");
        const home = this.settle(panel.webview, "tab", () => panel.reveal(), () => panel.visible);
        panel.onDidDispose(() => this.leave(home));
        panel.onDidChangeViewState(() => this.changed(home, panel.active));
    }

    private settle(webview: Webview, kind: Home["kind"], reveal: () => void, isVisible: () => boolean): Home {
        const bridge: Bridge = new Bridge({
            connect: this.host.connect,
            post: (message) => post(home, message),
            onShown: (threadId, settings) => {
                home.shown = threadId;
                home.settings = settings;
                if (home === this.active) {
                    this.host.onShown(threadId, settings);
                }
                this.actNow();
            },
            onProblem: (error) => {
                this.host.onProblem(error);
                if (error instanceof Unreachable && error.isMissing) {
                    home.isMissing = true;
                    webview.options = { enableCommandUris: MISSING_COMMANDS, localResourceRoots: this.roots() };
                    webview.html = missingDocument(this.files(webview), error.message, kind);
                }
            },
        });
        const home: Home = { webview, kind, bridge, isMissing: false, shown: undefined, settings: null, reveal, isVisible };
        webview.onDidReceiveMessage((message) => bridge.take(message));
        this.homes.add(home);
        this.active = home;
        this.load(home);
        return home;
    }

    private load(home: Home): void {
        home.isMissing = false;
        home.shown = undefined;
        home.webview.options = { enableScripts: true, localResourceRoots: this.roots() };
        home.webview.html = pageDocument(this.files(home.webview), randomBytes(16).toString("base64url"), this.host.address(), home.kind);
    }

    private changed(home: Home, isActive: boolean): void {
        if (isActive && home !== this.active) {
            this.active = home;
            if (home.shown !== undefined) {
                this.host.onShown(home.shown, home.settings);
            }
        }
    }

    private leave(home: Home): void {
        home.bridge.dispose();
        this.homes.delete(home);
        if (this.active === home) {
            this.active = [...this.homes].at(-1) ?? null;
        }
    }

    /** Does something in the active page once it is so far. */
    private soon(until: (home: Home) => boolean, act: (home: Home) => void): void {
        const one = { until, act };
        this.waiting.push(one);
        setTimeout(() => {
            this.waiting = this.waiting.filter((other) => other !== one);
        }, PATIENCE_MS);
        this.actNow();
    }

    private actNow(): void {
        const home = this.active;
        while (home && this.waiting[0]?.until(home)) {
            this.waiting.shift()?.act(home);
        }
    }

    private roots(): Uri[] {
        return [Uri.joinPath(this.extension, "built", "page"), Uri.joinPath(this.extension, "media")];
    }

    private files(webview: Webview): PageFiles {
        const place = (...names: string[]) => webview.asWebviewUri(Uri.joinPath(this.extension, ...names)).toString();
        return { script: place("built", "page", "main.js"), styles: [place("built", "page", "app.css"), place("media", "editor.css")], source: webview.cspSource };
    }
}

function post(home: Home, message: FromEditor): void {
    void home.webview.postMessage(message);
}
