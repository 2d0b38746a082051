/**
 * What the page knows and what it can do: the threads, the one that is open, and commands.
 *
 * @import {Carrier} from "../link/lines.js"
 * @import {ShellObject} from "../link/shell.js"
 * @import {Signal} from "../vendor.js"
 * @import {Notice} from "./notice.js"
 * @import {Mode} from "../model/draft.js"
 * @import {CommandOutcome, SessionOverview} from "../protocol.js"
 */
import { Disconnected, Refusal } from "../link/peer.js";
import { unsent } from "../model/draft.js";
import { fullness } from "../model/format.js";
import { canInsist, wordsOf } from "../model/outcome.js";
import { byFolder } from "../model/threads.js";
import { viewOf } from "../model/views.js";
import { signal } from "../vendor.js";
import { folderInAddress, idInAddress } from "./address.js";
import { Fleet } from "./fleet.js";
import { Jumps } from "./jumps.js";
import { keep, read } from "./kept.js";
import { choose } from "./menu.js";
import { forgetSoon, warnLater } from "./notice.js";
import { Notifier } from "./notifier.js";
import { Offers } from "./offers.js";
import { isRefused, Prompts } from "./prompts.js";
import { Session } from "./session.js";
import { Thread } from "./thread.js";
import { ThreadList } from "./thread_list.js";

const LIST_CHANGED = new Set([
    "thread/started", "thread/archived", "thread/unarchived", "thread/deleted", "thread/name/updated", "thread/status/changed",
]);
const ANSWERED_HERE = new Set([
    "item/commandExecution/requestApproval", "item/fileChange/requestApproval", "item/permissions/requestApproval",
    "item/tool/requestUserInput",
]);

export class App {
    /** @param {ShellObject | null} shell the desktop shell, where the page is shown by it */
    constructor(shell) {
        this.shell = shell;
        this.session = new Session({
            onReached: () => this.open.value?.follow() ?? this.select(idInAddress(), true), // first what is read
            onReady: () => this._ready(),
            onNotification: (method, params) => this._onNotification(method, params),
            onRequest: (id, method, params) => this._onRequest(id, method, params),
        });
        this.fleet = new Fleet(this.session);
        this.prompts = new Prompts(this.session, {
            onRefused: (threadId, error) => this._onRefused(threadId, error),
            onOutcome: (threadId, text, outcome) => this._onOutcome(threadId, text, outcome),
        });
        this.notifier = new Notifier(shell, (threadId) => this.select(threadId));
        this._list = new ThreadList(this.session);
        this.threads = this._list.threads;
        /** @type {Signal<Thread | null>} */
        this.open = signal(null);
        /** @type {Signal<string | null>} the folder in which the page was opened last */
        this.folder = signal(folderInAddress() ?? read("folder"));
        /** @type {Signal<Notice | null>} */
        this.notice = signal(null);
        /** @type {Signal<number>} counts what was sent: it is to come into view */
        this.sent = signal(0);
        /** @type {Signal<string>} what an operation is doing */
        this.progress = signal("");
        /** @type {Signal<"context" | "checkpoints" | "search" | null>} */
        this.panel = signal(null);
        /** @type {Signal<boolean>} whether the list of threads is shown where there is no room beside */
        this.isListOpen = signal(false);
        /** @type {Signal<string>} what the panel searches for */
        this.wantedSearch = signal("");
        /** @type {Signal<"new" | "rename" | "clear" | "delete" | "editor" | "palette" | "stats" | null>} */
        this.dialog = signal(null);
        /** @type {Signal<SessionOverview | null>} the session of another agent that is read */
        this.shownSession = signal(null);
        /** @type {Signal<number | null>} the turn whose files are to be shown */
        this.wantedTurn = signal(null);
        this.jumps = new Jumps(this);
        /** What to bring into sight. */
        this.jump = this.jumps.jump;
        this._offers = new Offers(this.session);
        this.models = this._offers.models;
    }

    /** @param {Carrier} carrier */
    start(carrier) {
        this.session.start(carrier);
        this.shell?.chosen.connect((name, argument = "") => choose(this, name, argument));
        addEventListener("hashchange", () => this.select(idInAddress()));
    }

    /**
     * Opens a thread; null closes the one that is open.
     * @param {string | null} id
     * @param {boolean} [isFirst] whether going back leads out of the page
     */
    select(id, isFirst = false) {
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
            history[isFirst ? "replaceState" : "pushState"](null, "", `#/thread/${id}`);
        }
        this.open.value?.follow();
        this.prompts.resume();
    }

    /**
     * Returns whether the daemon has a command.
     * @param {string} name
     */
    offers(name) {
        return this._offers.commands.value.has(name);
    }

    /**
     * Sends what was typed for a thread.
     * @param {Thread} thread
     * @param {Mode} mode
     */
    submit(thread, mode) {
        this.notice.value = null;
        this.jump.value = null;
        if (mode === "command" && this._opensView(thread)) {
            return;
        }
        this.sent.value += 1;
        if (mode !== "command") {
            thread.join().catch(() => {}); // so that the beginning of the answer comes here, too
        }
        if (mode !== "steer") {
            thread.stop.expect();
        }
        this.prompts.submit(thread, mode);
    }

    /**
     * Opens the view that is made for the command that was typed, if there is one.
     * @param {Thread} thread
     */
    _opensView(thread) {
        const view = viewOf(unsent(this.prompts.draftOf(thread.id).value));
        this.wantedSearch.value = view?.query ?? this.wantedSearch.value;
        this.panel.value = view?.panel ?? this.panel.value;
        this.dialog.value = view?.dialog ?? this.dialog.value;
        if (view && view.dialog !== "clear") { // what was typed stays until it is chosen
            this.prompts.change(thread.id, (draft) => ({ ...draft, text: "" }));
        }
        return view !== null;
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
        if (outcome?.handled) {
            this._onOutcome(thread.id, text, outcome);
        }
        return outcome;
    }

    /**
     * Says what came of a command.
     * @param {string} threadId
     * @param {string} text
     * @param {CommandOutcome} outcome
     */
    _onOutcome(threadId, text, outcome) {
        if (this.open.value?.id !== threadId) {
            return; // its thread shows what has changed
        }
        this.progress.value = "";
        this.open.value.stop.forget();
        const kind = isRefused(outcome) ? "problem" : "done";
        const force = kind === "problem" && canInsist(outcome) ? `${text} --force` : undefined;
        this.notice.value = { kind, text: wordsOf(outcome), undo: outcome.undo, force };
        forgetSoon(this.notice);
        if (outcome.newThreadId) {
            const notice = this.notice.value;
            this.select(outcome.newThreadId);
            this.open.value?.join().catch(() => {}); // the settings come with it
            this.notice.value = notice;
        }
        this.refreshSoon();
    }

    /**
     * Opens a thread where an entry of it is.
     * @param {string} threadId
     * @param {string} turnId
     * @param {string} entryId
     */
    reveal(threadId, turnId, entryId) {
        return this.jumps.reveal(threadId, turnId, entryId);
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
        await this.attempt(() => thread.stop.now());
    }

    /**
     * @param {Thread} thread
     * @param {string | number} questionId
     * @param {object} result
     */
    answer(thread, questionId, result) {
        if (this.session.state.value !== "open") {
            return this._complain(new Disconnected()); // the question stays, and comes anew with the connection
        }
        thread.questions.value = thread.questions.value.filter((one) => one.id !== questionId);
        this.session.answer(questionId, result);
    }

    /** @param {{cwd: string, model: string | null, sandbox: string | null, approvalPolicy: string | null}} settings */
    async startThread(settings) {
        const chosen = Object.fromEntries(Object.entries(settings).filter(([, value]) => value));
        return this._began(await this.attempt(() => this.session.request("thread/start", chosen)));
    }

    /** @param {Thread} thread */
    async fork(thread) {
        this._began(await this.attempt(() => this.session.request("thread/fork", { threadId: thread.id })));
    }

    /** @param {any} answer what a thread began with, null if it did not */
    _began(answer) {
        if (answer) {
            this.select(answer.thread.id);
            this.open.value?.joined(answer);
            this.refreshSoon();
        }
        return answer !== null;
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
            this._complain(error);
            return null;
        }
    }

    /**
     * Says that what was sent was refused.
     * @param {string} threadId
     * @param {unknown} error
     */
    _onRefused(threadId, error) {
        if (this.open.value?.id === threadId) {
            this.open.value.stop.forget();
        }
        this._complain(error);
    }

    /** @param {unknown} error */
    _complain(error) {
        const isLost = error instanceof Disconnected; // that ends when the connection is there again
        this.notice.value = { kind: "problem", text: /** @type {Error} */ (error).message, hint: error instanceof Refusal ? error.hint : "", isLost };
    }

    /** Asks for the list of threads anew. */
    refreshSoon() {
        this._list.refreshSoon();
    }

    async _ready() {
        if (this.notice.value?.isLost) {
            this.notice.value = null;
        }
        this.fleet.refresh();
        this._offers.read();
        await this._list.refresh();
        this.prompts.resume();
        if (this.open.value) {
            return;
        }
        const folder = folderInAddress();
        if (folder !== null) {
            keep("folder", folder);
            history.replaceState(null, "", "#");
        }
        const latest = this.threads.value?.find((thread) => !thread.archived && (folder === null || thread.cwd === folder));
        this.select(latest?.id ?? null, true);
    }

    /**
     * @param {string} method
     * @param {any} params
     */
    _onNotification(method, params) {
        const thread = this.open.value?.id === params.threadId ? this.open.value : null;
        if (LIST_CHANGED.has(method)) {
            this._list.note(method, params);
        }
        switch (method) {
            case "orchestration/event":
                this._onEvent(params);
                break;
            case "orchestration/notice":
                this.notifier.tell(params);
                break;
            case "context/updated":
                if (thread) {
                    thread.context.value = params;
                    this.shell?.showMeter(Math.round(params.percent ?? -1), fullness(params));
                }
                this._list.change(params.threadId, { context: params });
                break;
            case "warning":
                warnLater(this.notice, params.message, () => params.from === "trimpoint" && this.open.value?.id === params.threadId);
                break;
            case "commands/progress":
                if (thread) {
                    this.progress.value = params.message;
                }
                this.prompts.began(params.threadId);
                break;
            default:
                this.prompts.note(params.threadId, method, params);
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
        thread.onEvent(envelope);
        if (wasBusy && !thread.isBusy) {
            this.progress.value = "";
            this._list.refreshSoon(thread.id);
        }
    }

    /** @param {"search" | "context" | "checkpoints"} panel */
    togglePanel(panel) {
        this.panel.value = this.panel.value === panel ? null : panel;
    }

    /** Opens the thread that many places below the open one in the list.
     * @param {number} step
     */
    selectBeside(step) {
        const threads = byFolder((this.threads.value ?? []).filter((one) => !one.archived)).flatMap(([, members]) => members);
        const at = threads.findIndex((one) => one.id === this.open.value?.id);
        this.select(threads[Math.max(0, Math.min(threads.length - 1, at + step))]?.id ?? null);
    }

    /** @type {import("../link/peer.js").Listener["onRequest"]} */
    _onRequest(id, method, params) {
        const thread = this.open.value;
        if (thread?.id === params.threadId && ANSWERED_HERE.has(method)) {
            thread?.ask({ id, method, params });
            this._list.refreshSoon(params.threadId);
        } else {
            this.session.decline(id);
        }
    }
}
