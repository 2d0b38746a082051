/**
 * Tells a person who looks elsewhere what the daemon says of the threads, if the person wants that.
 *
 * @import {ShellObject} from "../link/shell.js"
 */
import { signal } from "../vendor.js";
import { keep, read } from "./kept.js";

const KEPT = "notifications";

export class Notifier {
    /**
     * @param {ShellObject | null} shell
     * @param {(threadId: string) => void} onChosen
     */
    constructor(shell, onChosen) {
        this._shell = shell;
        this._onChosen = onChosen;
        /** Whether the person wants to be told: in the desktop shell until switched off, in a browser once switched on. */
        this.isOn = signal(read(KEPT) ?? shell !== null);
    }

    /** Whether there is anything to switch on. */
    get isPossible() {
        return this._shell ? this._shell.notify !== null : "Notification" in globalThis && Notification.permission !== "denied";
    }

    /** Switches it on or off; a browser asks the person first. */
    async toggle() {
        const isWanted = !this.isOn.value;
        const isAllowed = !isWanted || this._shell !== null || (await Notification.requestPermission()) === "granted";
        this.isOn.value = isWanted && isAllowed;
        keep(KEPT, this.isOn.value);
    }

    /** @param {import("../protocol.js").Notice} notice */
    tell({ threadId, title, said }) {
        if (!this.isOn.value || document.hasFocus()) {
            return;
        }
        if (this._shell) {
            this._shell.notify?.(title, said);
        } else if ("Notification" in globalThis && Notification.permission === "granted") {
            const shown = new Notification(title, { body: said, tag: threadId });
            shown.onclick = () => {
                focus();
                this._onChosen(threadId);
                shown.close();
            };
        }
    }
}
