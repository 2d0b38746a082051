/** Names files and quotes selections in a prompt. */
import { window, type Uri } from "vscode";
import { spelledPath } from "../../../../web/app/model/files.js";
import { pathFrom } from "../../../../web/app/model/format.js";
import { quoted } from "./pickers.js";

/** Returns the selection of the active editor as a prompt of a thread in `folder` quotes it, null where nothing is selected. */
export function selectedWords(folder: string): string | null {
    const editor = window.activeTextEditor;
    if (!editor || editor.selection.isEmpty) {
        return null;
    }
    const { document, selection } = editor;
    // A selection that ends before the first letter of a line does not mean that line.
    const last = selection.end.character === 0 && selection.end.line > selection.start.line ? selection.end.line - 1 : selection.end.line;
    const words = document.getText(selection.with(selection.start.with(undefined, 0), document.lineAt(last).range.end));
    return quoted(pathFrom(document.uri.fsPath, folder), selection.start.line + 1, last + 1, document.languageId, words);
}

/** Returns files as a prompt of a thread in `folder` names them. */
export function fileWords(files: readonly Uri[], folder: string): string {
    return files.map((file) => spelledPath(pathFrom(file.fsPath, folder))).join(" ");
}
