// Takes each item of a file in as the page does, with deltas of any type, and prints what went wrong.
import { readFileSync } from "node:fs";

const [, , modules, lines] = process.argv;
const { nothingLive, note } = await import(`${modules}/model/live.js`);

const faults = [];
for (const line of readFileSync(lines, "utf8").split("\n")) {
    const { item, delta } = JSON.parse(line);
    const live = nothingLive();
    try {
        for (const method of ["item/started", "item/completed"]) {
            note(live, method, { turnId: "t", item });
            note(live, "item/agentMessage/delta", { itemId: "i", turnId: "t", delta });
            note(live, "item/commandExecution/outputDelta", { itemId: "i", turnId: "t", delta });
        }
        note(live, "error", { error: delta, willRetry: true });
        note(live, "turn/completed", {});
        if (live.items.size > 1) {
            throw new Error("one item is more than one row");
        }
    } catch (error) {
        faults.push(`${line}\n${error.stack}`);
    }
}
process.stdout.write(faults.slice(0, 3).join("\n\n"));
