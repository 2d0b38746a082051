/**
 * What the page knows and what it can do: the threads, the one that is open, and commands.
 *
 * @import {Carrier} from "../link/lines.js"
 * @import {ShellObject} from "../link/shell.js"
 * @import {Signal} from "../vendor.js"
 * @import {Notice} from "./notice.js"
 * @import {Prompt} from "./prompts.js"
 * @import {CommandOutcome, SessionOverview, ThreadOverview} from "../protocol.js"
 */
import { Refusal } from "../link/peer.js";
import { fullness } from "../model/format.js";
import { hidingPoint } from "../model/timeline.js";
import { signal } from "../vendor.js";
import { Fleet } from "./fleet.js";
import { forgetSoon } from "./notice.js";
import { Prompts } from "./prompts.js";
import { Session } from "./session.js";
import { Thread } from "./thread.js";

const LIST_CHANGED = new Set([
    "thread/started", "thread/archived", "thread/unarchived", "thread/deleted", "thread/name/updated", "thread/status/changed",
]);
const ANSWERED_HERE = new Set([
    "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
    "item/tool/requestUserInput",
]);
const REFRESH_AFTER_MS = 150;
const NO_ROOM_BESIDE = "(max-width: 50rem)"; // as in app.css: the panel covers the conversation

/** A turn that was looked for, and the entry of it; `count` tells one time from another.
 * @typedef {{key: string, entryId: string, count: number}} Jump
 */

export class App {
    /** @param {ShellObject | null} shell the desktop shell, where the page is shown by it */
    constructor(shell) {
        this.shell = shell;
        this.session = new Session({
            onReady: () => this._ready(),
            onNotification: (method, params) => this._onNotification(method, params),
            onRequest: (id, method, params) => this._onRequest(id, method, params),
        });
        this.fleet = new Fleet(this.session);
        this.prompts = new Prompts(this.session);
        /** @type {Signal<ThreadOverview[] | null>} */
        this.threads = signal(null);
        /** @type {Signal<Thread | null>} */
        this.open = signal(null);
        /** @type {Signal<Notice | null>} */
        this.notice = signal(null);
        /** @type {Signal<string>} what an operation is doing */
        this.progress = signal("");
        /** @type {Signal<"context" | "checkpoints" | "search" | null>} */
        this.panel = signal(null);
        /** @type {Signal<boolean>} whether the list of threads is shown where there is no room beside */
        this.isListOpen = signal(false);
        /** @type {Signal<"new" | "rename" | null>} */
        this.dialog = signal(null);
        /** @type {Signal<SessionOverview | null>} the session of another agent that is read */
        this.shownSession = signal(null);
        /** @type {Signal<number | null>} the turn whose files are to be shown */
        this.wantedTurn = signal(null);
        /** @type {Signal<Jump | null>} what to bring into sight */
        this.jump = signal(null);
        /** @type {Signal<ReadonlySet<string>>} the names of the commands that this daemon has */
        this.commands = signal(new Set());
        this._refreshTimer = 0;
        this._jumps = 0;
    }

    /** @param {Carrier} carrier */
    start(carrier) {
        this.session.start(carrier);
        this.shell?.chosen.connect((name) => this._onMenu(name));
        addEventListener("hashchange", () => this.select(idInAddress()));
    }

    /**
     * Opens a thread; null closes the one that is open.
     * @param {string | null} id
     */
    select(id) {
        this.isListOpen.value = false;
        if (this.open.value?.id === id) {
            return;
        }
        this.open.value?.leave();
        this.notice.value = null;
        this.jump.value = null;
        this.progress.value = "";
        this.open.value = id === null ? null : new Thread(this.session, id);
        if (id !== null && idInAddress() !== id) {
            history.pushState(null, "", `#/thread/${id}`);
        }
        this.open.value?.follow();
    }

    /**
     * Returns whether the daemon has a command.
     * @param {string} name
     */
    offers(name) {
        return this.commands.value.has(name);
    }

    /**
     * Sends a prompt, or queues it while it has to wait.
     * @param {Thread} thread
     * @param {Prompt} prompt
     */
    async send(thread, prompt) {
        this.notice.value = null;
        this.jump.value = null;
        await this.attempt(() => this.prompts.send(thread, prompt));
    }

    /**
     * Carries out a slash command; returns its outcome, null where it was refused.
     * @param {Thread} thread
     * @param {string} text
     * @returns {Promise<CommandOutcome | null>}
     */
    async command(thread, text) {
        this.notice.value = null;
        const outcome = await this.attempt(() =>
            this.session.request("commands/execute", { text, threadId: thread.id, commandId: crypto.randomUUID() }),
        );
        this.progress.value = "";
        if (!outcome?.handled) {
            return outcome;
        }
        const kind = isRefused(outcome) ? "problem" : "done";
        this.notice.value = { kind, text: outcome.message ?? "", undo: outcome.undo };
        forgetSoon(this.notice);
        if (outcome.newThreadId) {
            const notice = this.notice.value;
            this.select(outcome.newThreadId);
            this.open.value?.joined();
            this.notice.value = notice;
        }
        this.refreshSoon();
        return outcome;
    }

    /**
     * Opens a thread where an entry of it is; loads what is older as far as that.
     * @param {string} threadId
     * @param {string} turnId
     * @param {string} entryId
     */
    async reveal(threadId, turnId, entryId) {
        this.select(threadId);
        const thread = this.open.value;
        if (matchMedia(NO_ROOM_BESIDE).matches) {
            this.panel.value = null;
        }
        if (thread && (await thread.loadBackTo(turnId)) && this.open.value === thread) {
            this.jumpTo(thread, turnId, entryId);
        }
    }

    /**
     * Brings an entry into sight, and opens the section that it is hidden in.
     * @param {Thread} thread
     * @param {string} turnId
     * @param {string} entryId
     */
    jumpTo(thread, turnId, entryId) {
        const hiding = thread.state && hidingPoint(thread.state, turnId);
        if (hiding && !thread.expanded.value.has(hiding.id)) {
            thread.toggle(hiding.id);
        }
        this._jumps += 1;
        this.jump.value = { key: turnId, entryId, count: this._jumps };
    }

    /**
     * Gives a command of `orchestration/dispatch`.
     * @param {string} threadId
     * @param {object} command with its `type`
     */
    async dispatch(threadId, command) {
        this.notice.value = null;
        const whole = { commandId: crypto.randomUUID(), threadId, ...command };
        const result = await this.attempt(() => this.session.request("orchestration/dispatch", { command: whole }));
        this.refreshSoon();
        return result;
    }

    /** @param {Thread} thread */
    async interrupt(thread) {
        const turn = thread.state?.turns.at(-1);
        if (turn?.status === "running") {
            await this.attempt(() =>
                this.session.request("turn/interrupt", { threadId: thread.id, turnId: turn.id }),
            );
        }
    }

    /**
     * @param {Thread} thread
     * @param {string | number} questionId
     * @param {object} result
     */
    answer(thread, questionId, result) {
        thread.questions.value = thread.questions.value.filter((one) => one.id !== questionId);
        this.session.answer(questionId, result);
    }

    /** @param {{cwd: string, model: string | null, sandbox: string | null, approvalPolicy: string | null}} settings */
    async startThread(settings) {
        const chosen = Object.fromEntries(Object.entries(settings).filter(([, value]) => value));
        const answer = await this.attempt(() => this.session.request("thread/start", chosen));
        if (answer) {
            this.select(answer.thread.id);
            this.open.value?.joined();
            this.refreshSoon();
        }
        return answer !== null;
    }

    /** @param {Thread} thread */
    async fork(thread) {
        const answer = await this.attempt(() => this.session.request("thread/fork", { threadId: thread.id }));
        if (answer) {
            this.select(answer.thread.id);
            this.open.value?.joined();
            this.refreshSoon();
        }
    }

    /**
     * Does something that the daemon may refuse, and says so if it does.
     * @template T
     * @param {() => Promise<T>} act
     * @returns {Promise<T | null>}
     */
    async attempt(act) {
        try {
            return await act();
        } catch (error) {
            const hint = error instanceof Refusal ? error.hint : "";
            this.notice.value = { kind: "problem", text: /** @type {Error} */ (error).message, hint };
            return null;
        }
    }

    /** Asks for the list of threads anew, once for many changes. */
    refreshSoon() {
        clearTimeout(this._refreshTimer);
        this._refreshTimer = setTimeout(() => this._refresh(), REFRESH_AFTER_MS);
    }

    async _refresh() {
        try {
            const answer = await this.session.request("orchestration/snapshot");
            this.threads.value = answer.threads;
        } catch {
            return; // it is asked again when the connection is back
        }
    }

    async _readCommands() {
        try {
            const answer = await this.session.request("commands/list");
            const names = answer.commands.map((/** @type {{name: string}} */ one) => one.name.replace(/^\//, ""));
            this.commands.value = new Set(names);
        } catch {
            return; // it is asked again when the connection is back
        }
    }

    async _ready() {
        this.fleet.refresh();
        await Promise.all([this._refresh(), this._readCommands()]);
        const open = this.open.value;
        if (open) {
            await open.follow();
            return;
        }
        const latest = this.threads.value?.find((thread) => !thread.archived);
        this.select(idInAddress() ?? latest?.id ?? null);
    }

    /**
     * @param {string} method
     * @param {any} params
     */
    _onNotification(method, params) {
        const thread = this.open.value?.id === params.threadId ? this.open.value : null;
        if (LIST_CHANGED.has(method)) {
            this.refreshSoon();
        }
        switch (method) {
            case "orchestration/event":
                this._onEvent(params);
                break;
            case "context/updated":
                if (thread) {
                    thread.context.value = params;
                    this.shell?.showMeter(Math.round(params.percent ?? -1), fullness(params));
                }
                this.refreshSoon();
                break;
            case "commands/progress":
                if (thread) {
                    this.progress.value = params.message;
                }
                break;
            default:
                thread?.onNotification(method, params);
        }
    }

    /** @param {import("../protocol.js").EventEnvelope} envelope */
    _onEvent(envelope) {
        const thread = this.open.value;
        // The thread is in the name of the event: `thread/number`.
        if (!thread || !envelope.eventId.startsWith(`${thread.id}/`)) {
            return;
        }
        const wasBusy = thread.isBusy;
        const held = thread.holdsPrompts;
        thread.onEvent(envelope);
        if (wasBusy && !thread.isBusy) {
            this.progress.value = "";
            this.refreshSoon();
            this._tell("The agent is done", thread);
        }
        const next = held && this.prompts.takeQueued(thread);
        if (next) {
            this.send(thread, next);
        }
    }

    /**
     * Tells a person who looks elsewhere.
     * @param {string} what
     * @param {Thread | null} thread
     */
    _tell(what, thread) {
        if (this.shell && !document.hasFocus()) {
            const overview = this.threads.value?.find((one) => one.id === thread?.id);
            this.shell.notify(what, thread?.state?.name ?? overview?.preview ?? "");
        }
    }

    /** @param {string} name of an entry of the shell's menu */
    _onMenu(name) {
        switch (name) {
            case "new":
                this.dialog.value = "new";
                break;
            case "search":
            case "context":
            case "checkpoints":
                this.panel.value = this.panel.value === name ? null : name;
                break;
        }
    }

    /**
     * @param {string | number} id
     * @param {string} method
     * @param {any} params
     */
    _onRequest(id, method, params) {
        const thread = this.open.value;
        if (thread?.id === params.threadId && ANSWERED_HERE.has(method)) {
            thread?.ask({ id, method, params });
            this._tell("The agent asks", thread);
        } else {
            this.session.decline(id);
        }
    }
}

/**
 * Returns whether a command was not carried out, and could be later.
 * @param {CommandOutcome} outcome
 */
export function isRefused(outcome) {
    return outcome.status === "failed" || outcome.blocker !== null;
}

function idInAddress() {
    const found = /^#\/thread\/([\w-]+)$/.exec(location.hash);
    return found ? found[1] : null;
}
