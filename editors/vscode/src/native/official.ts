/** The official Codex extension beside this one: which Codex it starts, and how to have it start trimpoint. */
import { ConfigurationTarget, window, workspace, type Memento } from "vscode";

const SECTION = "chatgpt";
const SETTING = "cliExecutable";
const KEPT = "official.before";
const USE = "Use trimpoint";

/** Shows which Codex the official extension starts, and sets it to trimpoint if the person agrees. */
export async function useForOfficial(program: () => Promise<string>, kept: Memento): Promise<void> {
    const now = current();
    const path = await program();
    if (now === path) {
        void window.showInformationMessage(`The official Codex extension starts trimpoint already (${path}).`);
        return;
    }
    const detail = `It starts ${now ? now : "the Codex that it brings along"} now. The setting chatgpt.cliExecutable of all your folders will name ${path}. ` +
        "“Give the Official Codex Extension Its Own Codex Back” takes it back. Reload the window afterwards.";
    if ((await window.showWarningMessage("Have the official Codex extension start trimpoint?", { modal: true, detail }, USE)) !== USE) {
        return;
    }
    if (await set(path)) {
        await kept.update(KEPT, { before: now ?? null, path });
        void window.showInformationMessage("The official Codex extension starts trimpoint from its next start on.");
    }
}

/** Puts back what the setting was before. */
export async function leaveOfficial(kept: Memento): Promise<void> {
    const one = kept.get<{ before: string | null; path: string }>(KEPT);
    if (!one || current() !== one.path) {
        void window.showInformationMessage(`The official Codex extension does not start trimpoint by this extension. It starts ${current() ?? "the Codex that it brings along"}.`);
        return;
    }
    if (await set(one.before ?? undefined)) {
        await kept.update(KEPT, undefined);
        void window.showInformationMessage(`The official Codex extension starts ${one.before ?? "the Codex that it brings along"} from its next start on.`);
    }
}

function current(): string | undefined {
    return workspace.getConfiguration(SECTION).inspect<string>(SETTING)?.globalValue || undefined;
}

async function set(value: string | undefined): Promise<boolean> {
    try {
        await workspace.getConfiguration(SECTION).update(SETTING, value, ConfigurationTarget.Global);
        return true;
    } catch {
        void window.showErrorMessage("The official Codex extension is not installed here: there is no setting chatgpt.cliExecutable.");
        return false;
    }
}
