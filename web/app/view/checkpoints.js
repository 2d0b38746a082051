/**
 * The files after each turn: what it changed, and the way back there.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {CheckpointDiff, CheckpointList, CommandOutcome, TurnCheckpoint} from "../protocol.js"
 */
import { filesOf } from "../model/diff.js";
import { counted } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { isRefused } from "../store/prompts.js";
import { html, useEffect, useRef, useState } from "../vendor.js";
import { Diff } from "./diff.js";
import { Dialog } from "./dialogs.js";
import { Icon } from "./icons.js";

const SHOWN_PATHS = 12;

/** @param {{app: App, thread: Thread}} props */
export function Checkpoints({ app, thread }) {
    const [list, setList] = useState(/** @type {CheckpointList | null} */ (null));
    const [problem, setProblem] = useState("");
    const [revert, setRevert] = useState(/** @type {number | null} */ (null));
    const version = thread.version.value; // files are kept a moment after the turn
    const isBusy = thread.isBusy;
    useEffect(() => {
        if (!isBusy) {
            app.session.read("checkpoint/list", { threadId: thread.id }).then(setList, (error) => setProblem(error.message));
        }
    }, [thread, version, isBusy]);
    return html`
        ${problem && html`<p class="quiet">${problem}</p>`}
        ${list && !list.repository && html`<p class="quiet">This thread works in no git repository, so no files are kept.</p>`}
        <ol class="checkpoints" reversed>
            ${list?.turns.toReversed().map((one) => html`
                <${Checkpoint} key=${one.number} app=${app} thread=${thread} one=${one} root=${list.repository} revert=${() => setRevert(one.number)} />
            `)}
        </ol>
        ${list !== null && list.older > 0 && html`<p class="quiet">${counted(list.older, "older turn")} not listed.</p>`}
        ${revert !== null && html`<${RevertDialog} app=${app} thread=${thread} number=${revert} close=${() => setRevert(null)} />`}
    `;
}

/** @param {{app: App, thread: Thread, one: TurnCheckpoint, root: string | null, revert: () => void}} props `root`: the folder of the repository, null where no files are kept */
function Checkpoint({ app, thread, one, root, revert }) {
    const [diff, setDiff] = useState(/** @type {CheckpointDiff | string | null} */ (null));
    const item = useRef(/** @type {HTMLElement | null} */ (null));
    const isWanted = app.wantedTurn.value === one.number;
    useEffect(() => {
        if (isWanted) {
            item.current?.scrollIntoView({ block: "center" });
            item.current?.querySelector("button")?.focus();
            app.wantedTurn.value = null;
        }
    }, [isWanted]);
    const toggle = async () => {
        if (diff !== null) {
            setDiff(null);
            return;
        }
        try {
            setDiff(await app.session.read("checkpoint/diff", { threadId: thread.id, newer: String(one.number) }));
        } catch (error) {
            setDiff(/** @type {Error} */ (error).message);
        }
    };
    const { changed } = one;
    const files = changed?.files ?? 0;
    const problem = root && one.problem;
    return html`
        <li class=${`checkpoint ${one.trimmed ? "is-trimmed" : ""}`} ref=${item} value=${one.number}>
            <div class="checkpoint-head">
                <span class="checkpoint-number">${one.number}</span>
                ${one.number === 0
                    ? html`<span class="checkpoint-prompt">Before the first turn</span>`
                    : html`<button class="checkpoint-prompt" dir="auto" title="Go to this turn" onClick=${() => app.jumps.toTurn(one.number)}>${visible(one.prompt) || "…"}</button>`}
                ${one.trimmed && html`<span class="tag">not in context</span>`}
                <button class="icon-button" aria-label="Revert to here" title="Revert to here" onClick=${revert} disabled=${thread.isBusy}>
                    <${Icon} name="undo" /></button>
            </div>
            ${(files > 0 || problem) && html`<div class="checkpoint-facts">
                ${files > 0 && html`<button class="button is-small" aria-expanded=${diff !== null} onClick=${toggle}>Diff</button>
                    <span>${counted(files, "file")}</span>
                    <span class="added">+${changed?.additions}</span><span class="removed">−${changed?.deletions}</span>`}
                ${problem && html`<span class="quiet">${problem}</span>`}
            </div>`}
            ${typeof diff === "string" && html`<p class="quiet">${diff}</p>`}
            ${diff !== null && typeof diff !== "string" && html`
                ${filesOf(diff.diff ?? "").map((file) => html`<${Diff} key=${file.path} path=${file.path} file=${root && `${root}/${file.path}`} text=${file.text}
                    read=${() => app.session.read("checkpoint/file", { threadId: thread.id, moment: String(one.number), path: file.path })} />`)}${diff.truncated && html`<p class="quiet">The rest is left out.</p>`}`}
        </li>
    `;
}

/** Says what a revert would do before it is done. `after` is what it is for, which needs no files.
 * @param {{app: App, thread: Thread, number: number, close: () => void, after?: () => void}} props
 */
export function RevertDialog({ app, thread, number, close, after }) {
    const [preview, setPreview] = useState(/** @type {CommandOutcome | null} */ (null));
    const [problem, setProblem] = useState("");
    const [scope, setScope] = useState(/** @type {"files+context" | "context"} */ (after ? "context" : "files+context"));
    useEffect(() => {
        setPreview(null);
        app.session
            .request("checkpoint/preview", { threadId: thread.id, turnCount: number, scope })
            .then(setPreview, (error) => setProblem(error.message));
    }, [scope]);
    const refusals = preview?.files?.refusals ?? [];
    const run = async () => {
        close();
        const outcome = await app.command(thread, `/revert ${number}${scope === "context" ? " --context" : ""}${refusals.length ? " --force" : ""}`);
        if (outcome && !isRefused(outcome)) {
            after?.();
        }
    };
    return html`
        <${Dialog} title=${number === 0 ? "Revert to before the first turn" : `Revert to the end of turn ${number}`} close=${close}>
            ${problem && html`<p class="problem" role="alert">${problem}</p>`}
            <label class="option">
                <input type="checkbox" checked=${scope === "files+context"}
                    onChange=${(/** @type {any} */ event) => setScope(event.target.checked ? "files+context" : "context")} />
                <span>Restore the files too</span>
            </label>
            ${preview === null && !problem && html`<p class="quiet" aria-busy="true">Looking at the files …</p>`}
            ${preview && html`
                <p dir="auto">${preview.message}</p>
                <${Paths} title="To be written" paths=${preview.files?.written ?? []} />
                <${Paths} title="To be removed" paths=${preview.files?.removed ?? []} />
                <${Paths} title="Not touched: changed by others or new ignore rules" paths=${preview.files?.kept ?? []} />
                <${Paths} title="Would be lost" paths=${refusals} />
            `}
            <div class="dialog-foot">
                <span class="quiet">It can be undone.</span>
                <button class="button" onClick=${close}>Cancel</button>
                <button class="button is-main" disabled=${preview === null} onClick=${run}>${refusals.length ? "Revert all the same" : "Revert"}</button>
            </div>
        <//>
    `;
}

/** @param {{title: string, paths: string[]}} props */
function Paths({ title, paths }) {
    return paths.length > 0 && html`
        <h3>${title}</h3>
        <ul class="paths">
            ${paths.slice(0, SHOWN_PATHS).map((path) => html`<li key=${path} dir="ltr">${path}</li>`)}
            ${paths.length > SHOWN_PATHS && html`<li class="quiet">and ${paths.length - SHOWN_PATHS} more</li>`}
        </ul>
    `;
}
