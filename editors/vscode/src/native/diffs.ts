/** What turns and reverts changed in the files, in the editor's own diff views. */
import { join } from "node:path";
import { commands, Selection, Uri, window, workspace, type TextDocumentContentProvider } from "vscode";
import type { CheckpointDiff, DiffSide, FileChange, FileContent } from "../../../../web/app/protocol.js";
import type { Asks } from "../client/threads.js";
import { firstLine } from "./pickers.js";

const SCHEME = "trimpoint-files";

/** Registers the scheme of the files of checkpoints; the query names the thread and the commit, which never changes. */
export function registerFiles(session: Asks) {
    const provider: TextDocumentContentProvider = {
        async provideTextDocumentContent({ query }) {
            const { threadId, commit, name } = JSON.parse(query) as { threadId: string; commit: string | null; name: string };
            return commit === null ? "" : ((await session.request<FileContent>("checkpoint/file", { threadId, moment: commit, path: name })).text ?? "");
        },
    };
    return workspace.registerTextDocumentContentProvider(SCHEME, provider);
}

/** Shows how the files differ; a side without a commit is the files as they are. */
export async function showDiff(threadId: string, title: string, found: CheckpointDiff): Promise<void> {
    const pairs = found.files.filter((file) => !file.binary).map((file) => pairOf(threadId, found, file));
    const [first] = pairs;
    if (first === undefined) {
        void window.showInformationMessage(`${title}: ${found.files.length > 0 ? "only binary files differ." : "no file differs."}`);
    } else if (pairs.length === 1) {
        const line = firstLine(found.diff ?? "");
        await commands.executeCommand("vscode.diff", first.older, first.newer, `${first.path} (${title})`, { preview: true, selection: new Selection(line, 0, line, 0) });
    } else {
        await commands.executeCommand("vscode.changes", title, pairs.map(({ place, older, newer, status }) => [place, status === "added" ? undefined : older, status === "deleted" ? undefined : newer]));
    }
}

function pairOf(threadId: string, { repository, older, newer }: CheckpointDiff, { path, oldPath, status }: FileChange) {
    const side = ({ commit }: DiffSide, name: string, isThere: boolean) => {
        const place = Uri.file(join(repository, name));
        return isThere && commit === null
            ? place
            : place.with({ scheme: SCHEME, query: JSON.stringify({ threadId, commit: isThere ? commit : null, name }) });
    };
    return {
        path,
        status,
        place: Uri.file(join(repository, path)),
        older: side(older, oldPath ?? path, status !== "added"),
        newer: side(newer, path, status !== "deleted"),
    };
}
