/** Shows what the daemon tells a person who looks elsewhere. It leads to the conversation, and answers no question. */
import { window, workspace } from "vscode";
import type { Notice } from "../../../../web/app/protocol.js";

const SHOW = "Show";
const LONGEST = 60;

/** Says what has happened. `isSeen`: whether a person sees the thread now. */
export function tell({ event, title, said }: Notice, isSeen: boolean, show: () => void): void {
    const asks = event === "asks";
    if (!workspace.getConfiguration("trimpoint").get("notifications", true) || (asks ? isSeen : window.state.focused)) {
        return;
    }
    const words = `${title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title}: ${said}`;
    void (asks ? window.showWarningMessage(words, SHOW) : window.showInformationMessage(words, SHOW)).then((answer) => answer === SHOW && show());
}
