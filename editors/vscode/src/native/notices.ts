/** Tells a person who looks elsewhere that a thread waits or is done. It leads to the question, and never answers it. */
import { window, workspace } from "vscode";
import { titleOf } from "../../../../web/app/model/threads.js";
import type { ThreadOverview } from "../../../../web/app/protocol.js";
import type { Changes } from "../client/threads.js";

const SHOW = "Show";
const LONGEST = 60;

/** Says what has changed. `isSeen`: whether a person sees a thread now. */
export function tell({ asking, done }: Changes, isSeen: (threadId: string) => boolean, show: (threadId: string) => void): void {
    if (!workspace.getConfiguration("trimpoint").get("notifications", true)) {
        return;
    }
    const offer = (thread: ThreadOverview) => (answer: string | undefined) => answer === SHOW && show(thread.id);
    for (const thread of asking.filter((one) => !isSeen(one.id))) {
        void window.showWarningMessage(`“${short(thread)}” waits for your answer.`, SHOW).then(offer(thread));
    }
    for (const thread of window.state.focused ? [] : done) {
        void window.showInformationMessage(`The agent is done: “${short(thread)}”.`, SHOW).then(offer(thread));
    }
}

function short(thread: ThreadOverview): string {
    const title = titleOf(thread).replace(/\s+/g, " ");
    return title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title;
}
