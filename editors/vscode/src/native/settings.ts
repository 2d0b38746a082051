/** Pickers for what a thread works with. */
import { APPROVALS, modelsOf, SANDBOXES, settingsOf } from "../../../../web/app/model/settings.js";
import type { Asks } from "../client/threads.js";
import { pick } from "./asking.js";
import { settingRows } from "./pickers.js";

export async function pickModel(session: Asks, threadId: string): Promise<void> {
    const now = await settings(session, threadId);
    const models = modelsOf(await session.request("model/list"));
    const row = await pick("Model", "From the next turn on", settingRows(models.map((one) => [one.model, one.name]), now.model));
    const model = models.find((one) => one.model === row?.value);
    if (row) {
        const effort = model && now.effort && !model.efforts.includes(now.effort) ? { effort: model.effort } : {};
        await session.request("thread/settings/update", { threadId, model: row.value, ...effort });
    }
}

export async function pickSandbox(session: Asks, threadId: string): Promise<void> {
    const now = String((await settings(session, threadId)).sandbox?.type ?? "");
    const row = await pick("Sandbox", "What the agent's commands may do", settingRows(SANDBOXES, now));
    if (row && row.value !== now) {
        await session.request("thread/settings/update", { threadId, sandboxPolicy: { type: row.value } });
    }
}

export async function pickApprovals(session: Asks, threadId: string): Promise<void> {
    const { approval } = await settings(session, threadId);
    const row = await pick("Approvals", "When the agent asks", settingRows(APPROVALS, typeof approval === "string" ? approval : ""));
    if (row) {
        await session.request("thread/settings/update", { threadId, approvalPolicy: row.value });
    }
}

async function settings(session: Asks, threadId: string) {
    const answer = await session.request("thread/resume", { threadId, excludeTurns: true });
    session.request("thread/unsubscribe", { threadId }).catch(() => {});
    return settingsOf(answer);
}
