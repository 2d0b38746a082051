/** Pickers whose rows say what would happen once they are looked at. */
import { window, type QuickPickItem, type QuickInputButton } from "vscode";
import type { Row } from "./pickers.js";

const LOOKED_AT_MS = 120;

interface Item extends QuickPickItem {
    readonly row: Row;
}

export interface Previews {
    /** Returns what a row would do, for a person. */
    preview?(row: Row): Promise<string>;
    readonly buttons?: readonly QuickInputButton[];
    onButton?(row: Row): void;
}

/** Shows the rows; returns the one that was taken, null where none was. */
export function pick(title: string, placeholder: string, rows: readonly Row[], { preview, buttons, onButton }: Previews = {}): Promise<Row | null> {
    const picker = window.createQuickPick<Item>();
    const said = new Map<Row, string>();
    let timer: NodeJS.Timeout | undefined;
    let active = rows[0];
    const draw = () => {
        picker.keepScrollPosition = true;
        picker.items = rows.map((row) => {
            const detail = said.get(row);
            return { row, label: row.label, description: row.description ?? "", ...(detail === undefined ? {} : { detail }), ...(buttons ? { buttons } : {}) };
        });
        picker.activeItems = picker.items.filter((item) => item.row === active);
    };
    const look = () => {
        const row = active;
        clearTimeout(timer);
        if (!preview || !row || said.has(row)) {
            return;
        }
        timer = setTimeout(async () => {
            picker.busy = true;
            said.set(row, await preview(row).catch((error: Error) => error.message));
            picker.busy = false;
            if (row === active) {
                draw(); // a person who has moved on is not taken back
            }
        }, LOOKED_AT_MS);
    };
    picker.title = title;
    picker.placeholder = placeholder;
    picker.matchOnDescription = true;
    picker.onDidChangeActive(([item]) => {
        active = item?.row ?? active;
        look();
    });
    picker.onDidTriggerItemButton(({ item }) => onButton?.(item.row));
    draw();
    picker.show();
    look(); // what is active from the beginning has not become so
    return new Promise((resolve) => {
        picker.onDidAccept(() => {
            const item = picker.selectedItems[0] ?? picker.activeItems[0];
            if (item) {
                resolve(item.row);
                picker.hide();
            }
        });
        picker.onDidHide(() => {
            clearTimeout(timer);
            resolve(null);
            picker.dispose();
        });
    });
}
