/** Puts the extension together. Nothing is started until a view or a command is used. */
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { commands, env, Uri, window, workspace, type ExtensionContext } from "vscode";
import type { SidecarStatus, ThreadOverview } from "../../../web/app/protocol.js";
import manifest from "../package.json";
import { Session } from "./client/session.js";
import { Threads } from "./client/threads.js";
import { Daemon, Unreachable } from "./daemon/daemon.js";
import { pick } from "./native/asking.js";
import { fileWords, selectedWords } from "./native/attach.js";
import { Commands } from "./native/commands.js";
import { registerFiles } from "./native/diffs.js";
import { tell } from "./native/notices.js";
import { leaveOfficial, useForOfficial } from "./native/official.js";
import { isOlder, threadRows } from "./native/pickers.js";
import { pickApprovals, pickModel, pickSandbox } from "./native/settings.js";
import { Status } from "./native/status.js";
import { ThreadTree } from "./native/tree.js";
import { Chat } from "./page/chat.js";

const SLASH = "trimpoint.slash.";

export function activate(context: ExtensionContext): void {
    const startedAt = performance.now();
    const log = window.createOutputChannel("trimpoint", { log: true });
    const places = () => ({
        setting: workspace.getConfiguration("trimpoint").get("path", "").trim(),
        path: process.env["PATH"] ?? "",
        home: homedir(),
        folders: folders(),
    });
    const daemon = new Daemon(places, log);
    const status = new Status();
    const connect = () => daemon.connect();
    let problem = "";
    const onProblem = (error: Error) => {
        const isMissing = error instanceof Unreachable && error.isMissing;
        void commands.executeCommand("setContext", "trimpoint.isMissing", isMissing);
        status.lost(error.message);
        if (error.message !== problem && !isMissing) {
            void window.showErrorMessage(`trimpoint: ${error.message}`, "Show Log").then((answer) => answer && log.show());
        }
        problem = error.message;
    };
    const session: Session = new Session(connect, manifest.version, {
        onReady: () => {
            problem = "";
            void commands.executeCommand("setContext", "trimpoint.isMissing", false);
            actions.onReady();
            threads.onReady();
            chat.retry();
            void sayOlder(session);
        },
        onLost: () => status.lost(null),
        onNotification: (method, params) => threads.onNotification(method, params),
        onProblem,
    });
    const onChange = () => {
        status.draw(threads);
        tree.draw();
    };
    const threads: Threads = new Threads(session, folders, onChange, (notice) => {
        tell(notice, chat.isSeen(notice.threadId), () => void chat.show(notice.threadId));
    });
    const chat: Chat = new Chat(context.extensionUri, {
        connect,
        onProblem,
        onShown: (threadId, settings) => {
            session.connect();
            threads.show(threadId, settings);
        },
        address: () => {
            const [folder] = folders();
            return folder === undefined ? "" : `#/in/${encodeURIComponent(folder)}`;
        },
    });
    const tree: ThreadTree = new ThreadTree(threads, () => session.connect());
    const newThread = async (): Promise<ThreadOverview | null> => {
        const cwd = await chosenFolder();
        if (cwd === null) {
            return null;
        }
        const { thread } = await session.request<{ thread: { id: string } }>("thread/start", { cwd });
        await threads.refresh();
        await chat.show(thread.id);
        threads.show(thread.id, null);
        return threads.current;
    };
    const currentThread = async (): Promise<ThreadOverview | null> => {
        if (!threads.isKnown) {
            await threads.refresh();
        }
        if (threads.current) {
            return threads.current;
        }
        const start = "New Conversation";
        return (await window.showInformationMessage("There is no conversation in this folder yet.", start)) === start ? newThread() : null;
    };
    const actions = new Commands(session, {
        thread: currentThread,
        choose: (threadId, name, argument) => chat.choose(threadId, name, argument),
        show: (threadId) => chat.show(threadId),
    });
    const withThread = (act: (thread: ThreadOverview) => unknown) => async () => {
        const thread = await currentThread();
        await (thread && act(thread));
    };
    const add = async (words: (folder: string) => string | null) => {
        const thread = threads.current ?? (threads.isKnown ? null : (await threads.refresh(), threads.current)) ?? (await newThread());
        const text = thread && words(thread.cwd);
        if (thread && text) {
            await chat.choose(thread.id, "prompt", text);
        }
    };
    const handlers: Record<string, (...given: any[]) => unknown> = {
        open: () => chat.reveal(),
        openTab: () => chat.openTab(),
        openThread: (threadId: string) => chat.show(threadId),
        newThread,
        pickThread: async () => {
            await threads.refresh();
            const row = await pick("Conversations of this folder", "The conversation to show", threadRows(threads.here, Date.now()));
            await (row && chat.show(row.value));
        },
        interrupt: withThread((thread) => interrupt(session, thread)),
        showTurnChanges: () => actions.showTurnChanges(),
        pickModel: withThread((thread) => pickModel(session, thread.id)),
        pickSandbox: withThread((thread) => pickSandbox(session, thread.id)),
        pickApprovals: withThread((thread) => pickApprovals(session, thread.id)),
        addSelection: () => add(selectedWords),
        addFile: (file?: Uri, files?: Uri[]) => {
            const named = files ?? [file ?? window.activeTextEditor?.document.uri].filter((one) => one !== undefined);
            return add((folder) => (named.length > 0 ? fileWords(named, folder) : null));
        },
        showStatus: () => {
            const [waiting] = threads.waiting;
            return waiting ? chat.show(waiting.id) : threads.current ? chat.choose(threads.current.id, "inspect") : chat.reveal();
        },
        useForOfficial: () => useForOfficial(() => daemon.program(), context.globalState),
        leaveOfficial: () => leaveOfficial(context.globalState),
        install: () => commands.executeCommand("markdown.showPreview", Uri.joinPath(context.extensionUri, "media", "install.md")),
        retry: () => {
            session.again();
            chat.retry();
        },
        showLog: () => log.show(),
    };
    for (const { command } of manifest.contributes.commands.filter((one) => one.command.startsWith(SLASH))) {
        handlers[command.replace("trimpoint.", "")] = () => actions.run(command.slice(SLASH.length));
    }
    for (const [name, handler] of Object.entries(handlers)) {
        context.subscriptions.push(
            commands.registerCommand(`trimpoint.${name}`, (...given: unknown[]) => actions.attempt(async () => handler(...given))),
        );
    }
    const onSettings = workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("trimpoint.path") && handlers["retry"]?.());
    context.subscriptions.push(log, status, tree, session, threads, chat, registerFiles(session), onSettings, ...chat.register());
    log.info(`trimpoint ${manifest.version} in ${env.appName}, active after ${Math.round(performance.now() - startedAt)} ms`);
}

let isVersionKnown = false;

/** Says once that the daemon is older than the extension, and how it is replaced. */
async function sayOlder(session: Session): Promise<void> {
    if (!isVersionKnown) {
        isVersionKnown = true;
        const { version } = await session.request<SidecarStatus>("sidecar/status").catch(() => ({ version: manifest.version }));
        if (isOlder(version, manifest.version)) {
            void window.showWarningMessage(`The trimpoint daemon that runs is ${version}, this extension ${manifest.version}. To replace it as soon as no agent works, type in a terminal: trimpoint daemon shutdown --when-idle`);
        }
    }
}

async function interrupt(session: Session, thread: ThreadOverview): Promise<void> {
    const answer = await session.request<{ thread: { turns: { id: string; status: string }[] } | null }>("orchestration/snapshot", { threadId: thread.id, turns: 1 });
    const turn = answer.thread?.turns.at(-1);
    if (turn?.status === "running") {
        await session.request("turn/interrupt", { threadId: thread.id, turnId: turn.id });
    } else {
        void window.showInformationMessage("No turn is running.");
    }
}

/** The folders of this window, as the daemon names them. */
function folders(): string[] {
    return (workspace.workspaceFolders ?? []).filter((one) => one.uri.scheme === "file").map((one) => {
        try {
            return realpathSync(one.uri.fsPath);
        } catch {
            return one.uri.fsPath;
        }
    });
}

async function chosenFolder(): Promise<string | null> {
    const [first, ...others] = folders();
    if (first === undefined) {
        void window.showInformationMessage("Open a folder first: a conversation works in one.");
        return null;
    }
    if (others.length === 0) {
        return first;
    }
    const row = await pick("New conversation", "The folder that it works in", [first, ...others].map((path) => ({ label: path, value: path })));
    return row?.value ?? null;
}
