/** Finds the `trimpoint` program. */
import { isAbsolute, join } from "node:path";

export interface Places {
    /** what the person has set; empty for nothing */
    readonly setting: string;
    /** `PATH` of this process */
    readonly path: string;
    readonly home: string;
    /** the folders of the workspace */
    readonly folders: readonly string[];
}

const NAME = "trimpoint";

/** Returns where the program may be, the best place first. A setting leaves no choice. */
export function candidates({ setting, path, home, folders }: Places): string[] {
    if (setting) {
        const named = setting.startsWith("~/") ? join(home, setting.slice(2)) : setting;
        return isAbsolute(named) ? [named] : folders.map((folder) => join(folder, named));
    }
    const inPath = path.split(":").filter((folder) => isAbsolute(folder)).map((folder) => join(folder, NAME));
    const inFolders = folders.flatMap((folder) => [".venv", "venv"].map((name) => join(folder, name, "bin", NAME)));
    // An editor that was started from a menu has not the PATH of a shell.
    const atHome = [join(home, ".local", "bin", NAME), join(home, ".trimpoint", "bin", NAME)];
    return [...inPath, ...inFolders, ...atHome];
}

/** Returns the first that is a program, null where none is. */
export async function findProgram(places: Places, isProgram: (path: string) => Promise<boolean>): Promise<string | null> {
    for (const path of candidates(places)) {
        if (await isProgram(path)) {
            return path;
        }
    }
    return null;
}

/** Returns an environment without what an editor's own processes have: a daemon would hand it to the agent's commands. */
export function ownEnvironment(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    return Object.fromEntries(Object.entries(environment).filter(([name]) => !/^(?:VSCODE_|ELECTRON_|CHROME_|NODE_OPTIONS$)/.test(name)));
}
