/** Asks a person to choose. The rows never change while they are shown: what is under a finger or a pointer is what is taken. */
import { window, type QuickInputButton, type QuickPickItem } from "vscode";
import type { Row } from "./pickers.js";

interface Item extends QuickPickItem {
    readonly row: Row;
}

/** A button at the end of each row, and what it does. */
export interface RowButton extends QuickInputButton {
    act(row: Row): void;
}

/** Shows the rows; returns the one that was taken, null where none was. */
export function pick(title: string, placeholder: string, rows: readonly Row[], button?: RowButton): Promise<Row | null> {
    const picker = window.createQuickPick<Item>();
    picker.title = title;
    picker.placeholder = placeholder;
    picker.matchOnDescription = true;
    picker.items = rows.map((row) => ({
        row,
        label: row.label,
        description: row.description ?? "",
        ...(row.detail === undefined ? {} : { detail: row.detail }),
        ...(button ? { buttons: [button] } : {}),
    }));
    picker.onDidTriggerItemButton(({ item }) => button?.act(item.row));
    picker.show();
    return new Promise((resolve) => {
        picker.onDidAccept(() => {
            const [item] = picker.selectedItems;
            if (item) {
                resolve(item.row);
                picker.hide();
            }
        });
        picker.onDidHide(() => {
            resolve(null);
            picker.dispose();
        });
    });
}
