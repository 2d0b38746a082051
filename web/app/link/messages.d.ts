/** The messages between the page and the editor around it; `editor.js` has the page's end, `editors/vscode` the other. */
import type { Settings } from "../model/settings.js";

export type ToEditor =
    | { type: "open" }
    | { type: "close" }
    | { type: "send"; line: string }
    | { type: "meter"; share: number; words: string }
    | { type: "shows"; threadId: string | null; settings: Settings | null };

export type FromEditor =
    | { type: "opened" }
    | { type: "received"; lines: string[] }
    | { type: "closed"; problem: string }
    | { type: "chosen"; name: string; argument: string };
