/**
 * The daemon's commands in the palette. Each is carried out as it is typed in a chat; those that ask for something first
 * have a picker, and whatever changes the thread says first what it would do.
 */
import { randomUUID } from "node:crypto";
import { commands, ThemeIcon, window, workspace } from "vscode";
import type { Refusal } from "../../../../web/app/link/peer.js";
import type { CheckpointDiff, CheckpointList, CommandDraft, CommandInfo, CommandList, CommandOutcome, ThreadOverview } from "../../../../web/app/protocol.js";
import type { Asks } from "../client/threads.js";
import { pick } from "./asking.js";
import { showDiff } from "./diffs.js";
import { accepting, clearRows, revertRows, takesWords, turnRows } from "./pickers.js";

const MOST_TURNS = 200;
const LONGEST_NOTICE = 300;
const CHANGES = { iconPath: new ThemeIcon("diff-multiple"), tooltip: "Show what would change in the files" };

export interface CommandsHost {
    /** Returns the thread that commands are about; null if the person wants none. */
    thread(): Promise<ThreadOverview | null>;
    /** Has the page do something in a thread. */
    choose(threadId: string, name: string, argument?: string): Promise<void>;
    show(threadId: string): Promise<void>;
}

export class Commands {
    private known: Promise<CommandInfo[]> | null = null;

    constructor(
        private readonly session: Asks,
        private readonly host: CommandsHost,
    ) {}

    /** Forgets what the daemon offers: it may be another one. */
    onReady(): void {
        this.known = null;
    }

    /** Carries out the command of a name, with a picker where there is something to choose. */
    async run(name: string): Promise<void> {
        const thread = await this.host.thread();
        if (thread === null) {
            return;
        }
        switch (name) {
            case "clear":
                return this.clear(thread);
            case "revert":
                return this.revert(thread);
            case "timeline":
                return this.goToTurn(thread);
            case "search":
                return this.search(thread);
            case "context":
                return this.host.choose(thread.id, "inspect");
            case "pin":
                return this.pin(thread);
            default:
                return this.runPlainly(thread, name);
        }
    }

    /** Lets a person choose a turn, and shows what it has changed in the files. */
    async showTurnChanges(): Promise<void> {
        const thread = await this.host.thread();
        const row = thread && (await pick("What a turn changed", "The turn", turnRows((await this.turns(thread, true)).turns)));
        if (thread && row) {
            const found = await this.session.request<CheckpointDiff>("checkpoint/diff", { threadId: thread.id, newer: row.value });
            await showDiff(thread.id, `turn ${row.value}`, found);
        }
    }

    private async clear(thread: ThreadOverview): Promise<void> {
        const { turns } = await this.turns(thread);
        const row = await pick("Clear the agent's context", "What it keeps; the history stays readable", clearRows(turns));
        if (row) {
            await this.confirm(thread, row.value);
        }
    }

    private async revert(thread: ThreadOverview): Promise<void> {
        const { turns, safety } = await this.turns(thread, true);
        const row = await pick("Revert files and conversation", "Where to go back to", revertRows(turns, safety !== null), {
            ...CHANGES,
            act: (one) => void this.attempt(() => this.showRevert(thread, one.value)),
        });
        if (row) {
            await this.confirmRevert(thread, row.value);
        }
    }

    private async confirmRevert(thread: ThreadOverview, command: string): Promise<void> {
        const [all, context, changes] = ["Revert", "Conversation Only", "Show Changes"];
        const detail = await this.preview(thread, command);
        if (detail === null) {
            return;
        }
        let answer = await window.showWarningMessage("Revert files and conversation?", { modal: true, detail }, all, context, changes);
        if (answer === changes) {
            await this.showRevert(thread, command);
            answer = await window.showWarningMessage(`Nothing was reverted yet. ${detail}`, all, context);
        }
        if (answer) {
            await this.execute(thread, answer === context ? `${command} --context` : command);
        }
    }

    /** Shows the files as they are, and as a revert would have them. */
    private async showRevert(thread: ThreadOverview, command: string): Promise<void> {
        const turn = command.split(" ")[1] ?? "";
        const newer = turn === "--undo" ? "safety" : turn;
        const found = await this.session.request<CheckpointDiff>("checkpoint/diff", { threadId: thread.id, older: "now", newer });
        await showDiff(thread.id, turn === "--undo" ? "before the last revert" : `now ↔ after turn ${turn}`, found);
    }

    private async goToTurn(thread: ThreadOverview): Promise<void> {
        const row = await pick("Turns", "The turn to show", turnRows((await this.turns(thread)).turns));
        if (row) {
            await this.host.choose(thread.id, "turn", row.value);
        }
    }

    private async search(thread: ThreadOverview): Promise<void> {
        const words = await window.showInputBox({ title: "Search", prompt: "Finds what was said and done, also what has left the context" });
        if (words?.trim()) {
            await this.host.choose(thread.id, "find", words.trim());
        }
    }

    private async pin(thread: ThreadOverview): Promise<void> {
        const sentence = { label: "A sentence of mine…", value: "" };
        const row = await pick("Pin", "What stays in the context whatever is trimmed", [...turnRows((await this.turns(thread)).turns), sentence]);
        const words = row?.value === "" ? await window.showInputBox({ title: "Pin a sentence", prompt: "Python 3.8 only" }) : row?.value;
        if (words?.trim()) {
            await this.execute(thread, `/pin ${words.trim()}`);
        }
    }

    /** Carries out a command that has no picker: asks for its words, and for a yes where it says what it would change. */
    private async runPlainly(thread: ThreadOverview, name: string): Promise<void> {
        const info = (await this.commands()).find((one) => one.name === name);
        if (!info) {
            void window.showWarningMessage(`This daemon has no command ${name}. Upgrade trimpoint.`);
            return;
        }
        const words = takesWords(info) ? await window.showInputBox({ title: info.usage, prompt: info.summary, placeHolder: "May be left empty" }) : "";
        if (words === undefined) {
            return;
        }
        const command = `/${name} ${words}`.trim();
        await (info.usage.includes("--dry-run") ? this.confirm(thread, command) : this.execute(thread, command));
    }

    /** Says what a command would do, and carries it out if that is wanted. */
    private async confirm(thread: ThreadOverview, command: string): Promise<void> {
        const detail = await this.preview(thread, command);
        if (detail !== null && (await pick(command, "Enter carries it out, Esc does not", [{ label: `$(check) ${command}`, detail, value: command }]))) {
            await this.execute(thread, command);
        }
    }

    /** Returns what a command would do, for a person; null where it would be refused, which is said. */
    private async preview(thread: ThreadOverview, text: string): Promise<string | null> {
        const outcome = await this.session.request<CommandOutcome>("commands/execute", { text, threadId: thread.id, dryRun: true });
        if (outcome.status !== "completed") {
            await this.say(thread, text, outcome);
            return null;
        }
        return (outcome.said ?? outcome.message ?? "").trim();
    }

    /** Carries out what is typed as a command, and says what came of it. */
    async execute(thread: ThreadOverview, text: string): Promise<void> {
        await this.tell(thread, text, await this.send(thread, text));
    }

    private send(thread: ThreadOverview, text: string): Promise<CommandOutcome> {
        return this.session.request<CommandOutcome>("commands/execute", { text, threadId: thread.id, commandId: randomUUID() });
    }

    private async tell(thread: ThreadOverview, text: string, outcome: CommandOutcome): Promise<void> {
        if (outcome.newThreadId) {
            await this.host.show(outcome.newThreadId);
        }
        await (outcome.draft ? this.offer(thread, outcome.draft, outcome.said ?? "") : this.say(thread, text, outcome));
    }

    /** Shows a drafted text in an editor, to be changed there, taken or left. */
    private async offer(thread: ThreadOverview, draft: CommandDraft, said: string): Promise<void> {
        const document = await workspace.openTextDocument({ content: draft.text, language: "markdown" });
        await window.showTextDocument(document, { preview: false });
        const [take, leave] = ["Take It", "Leave It"];
        const answer = await window.showInformationMessage(`${said} Change it in the editor, then take it.`, take, leave);
        const command = answer === take ? accepting(draft, document.getText()) : null;
        const close = async (): Promise<void> => {
            if (!document.isClosed) {
                await window.showTextDocument(document);
                await commands.executeCommand("workbench.action.revertAndCloseActiveEditor"); // an untitled text asks to be saved
            }
        };
        if (command) {
            await this.attempt(async () => {
                const outcome = await this.send(thread, command);
                if (outcome.status === "completed" || outcome.status === "skipped") {
                    await close(); // until then it may be refused, and what was written stays
                }
                await this.tell(thread, command, outcome);
            });
        } else if (answer) {
            await close();
        }
    }

    private async say(thread: ThreadOverview, text: string, outcome: CommandOutcome): Promise<void> {
        const { status, undo } = outcome;
        const words = (outcome.said ?? outcome.message ?? "").trim();
        if (status === "completed" || status === "skipped" || status === undefined) {
            if (words.length > LONGEST_NOTICE || words.split("\n").length > 2) {
                await showText(words);
            } else {
                const back = undo?.includes("--redo") ? "Redo" : "Undo";
                const answer = await window.showInformationMessage(words, ...(undo ? [back] : []));
                if (answer && undo) {
                    await this.attempt(() => this.execute(thread, undo));
                }
            }
            return;
        }
        const force = outcome.hints?.some((hint) => hint.command.includes("--force")) ? "Do It All the Same" : null;
        const answer = await window.showWarningMessage(outcome.message ?? words, ...(force ? [force] : []));
        if (answer) {
            await this.attempt(() => this.execute(thread, `${text} --force`));
        }
    }

    /** Does something that the daemon may refuse, and says so if it does. */
    async attempt(act: () => Promise<unknown>): Promise<void> {
        try {
            await act();
        } catch (error) {
            const { message, hint } = error as Refusal;
            void window.showErrorMessage([message, hint].filter(Boolean).join(" "));
        }
    }

    private turns(thread: ThreadOverview, changes = false): Promise<CheckpointList> {
        return this.session.request<CheckpointList>("checkpoint/list", { threadId: thread.id, limit: MOST_TURNS, changes });
    }

    private commands(): Promise<CommandInfo[]> {
        this.known ??= this.session.request<CommandList>("commands/list").then(
            ({ commands }) => commands.map((one) => ({ ...one, name: one.name.replace(/^\//, "") })),
            (error: Error) => {
                this.known = null;
                throw error;
            },
        );
        return this.known;
    }
}

/** Shows a text of many lines, which nothing keeps. */
async function showText(content: string): Promise<void> {
    await window.showTextDocument(await workspace.openTextDocument({ content, language: "plaintext" }), { preview: true });
}

