/**
 * One turn: the prompt, what the agent did, what it said.
 *
 * @import {App} from "../store/app.js"
 * @import {Jump} from "../store/jumps.js"
 * @import {Thread} from "../store/thread.js"
 * @import {TurnRow} from "../model/timeline.js"
 * @import {Entry} from "../model/shapes.js"
 * @import {LiveItem} from "../model/live.js"
 */
import { clock, duration } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { html, useEffect, useRef, useState } from "../vendor.js";
import { Activity, summaryOf, useHit } from "./activity.js";
import { Boundary } from "./boundary.js";
import { goToPrompt } from "./cards.js";
import { RevertDialog } from "./checkpoints.js";
import { CopyButton } from "./code.js";
import { Icon } from "./icons.js";
import { Answer } from "./markdown.js";
import { StretchDialog } from "./stretch.js";

const ASKED = "userInput";
const SECOND_MS = 1000;
const SHOWN_FROM_MS = 3000;
/** @type {LiveItem[]} */
const NOTHING = [];
const SAFE_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,[\w+/=]*$/;

/** @param {{app: App, thread: Thread, row: TurnRow}} props */
export function TurnView({ app, thread, row }) {
    const { turn, number, isTrimmed, entries: recorded } = row;
    const isRunning = turn.status === "running";
    if (isRunning || thread.live.items.size) {
        thread.liveVersion.value; // what is live is drawn anew with each change of it
    }
    const live = thread.live.items.size ? liveOf(thread, turn.id, recorded) : NOTHING;
    const parts = partsOf([...recorded, ...live]);
    const jump = app.jump.value?.key === turn.id ? app.jump.value : null;
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    useEffect(() => {
        if (jump?.isGoal) {
            jump.isGoal = false; // the row may go and come again
            place.current?.focus({ preventScroll: true });
        }
    }, [jump]);
    const answer = recorded.findLast((entry) => entry.kind === "message" && entry.role === "assistant");
    return html`
        <section class=${`turn ${isTrimmed ? "is-trimmed" : ""} ${jump ? "is-found" : ""}`} ref=${place} tabindex="-1" aria-label=${`Turn ${number}${isTrimmed ? ", not in context" : ""}`}>
            <h2 class="turn-number"><span class="unseen">Turn ${" "}</span>${number}</h2>
            ${parts.map((part) => html`<${Part} key=${part.key} part=${part} folder=${thread.state?.cwd} isRunning=${isRunning} jump=${jump} />`)}
            ${isRunning && html`<${Working} thread=${thread} isSilent=${live.length === 0} startedAt=${turn.startedAt} />`}
            <${TurnFoot} app=${app} thread=${thread} row=${row} answer=${answer?.text ?? ""} />
        </section>
    `;
}

/**
 * @param {Thread} thread
 * @param {string} turnId
 * @param {Entry[]} recorded
 */
function liveOf(thread, turnId, recorded) {
    const known = new Set(recorded.map((entry) => entry.id));
    return [...thread.live.items.values()].filter((item) => item.turnId === turnId && !known.has(item.id));
}

/** @typedef {{key: string, entry: Entry | LiveItem} | {key: string, activities: (Entry | LiveItem)[]}} Part */

/**
 * Puts activities that stand together into one part.
 * @param {(Entry | LiveItem)[]} entries
 * @returns {Part[]}
 */
function partsOf(entries) {
    /** @type {Part[]} */
    const parts = [];
    for (const entry of entries) {
        const last = parts.at(-1);
        if (entry.kind === "message" || entry.role === ASKED) {
            parts.push({ key: entry.id, entry });
        } else if (last && "activities" in last) {
            last.activities.push(entry);
        } else {
            parts.push({ key: `activities ${entry.id}`, activities: [entry] });
        }
    }
    return parts;
}

/** @param {{part: Part, folder?: string, isRunning: boolean, jump: Jump | null}} props */
function Part({ part, folder, isRunning, jump }) {
    const view = "activities" in part
        ? html`<${Activities} entries=${part.activities} folder=${folder} isRunning=${isRunning} jump=${jump} />`
        : part.entry.role === ASKED
        ? html`<${Asked} entry=${part.entry} jump=${jump} />`
        : html`<${Message} entry=${part.entry} jump=${jump} />`;
    return html`<${Boundary} of=${part} what="This part of the turn">${view}<//>`;
}

/** What the agent asked, and what a person answered.
 * @param {{entry: Entry | LiveItem, jump: Jump | null}} props
 */
function Asked({ entry, jump }) {
    const { place, isHit } = useHit(entry, jump);
    const { isDiscarded, tag } = tagOf(entry);
    const questions = [entry.detail?.questions ?? []].flat();
    return html`<dl class=${`answered ${isDiscarded ? "is-discarded" : ""} ${isHit ? "is-hit" : ""}`} ref=${place} dir="auto">${questions.map((one) => html`
        <dt><${Icon} name="question" />${visible(String(one?.question))} ${tag}</dt>
        <dd>${one?.answer ? visible(String(one.answer)) : html`<span class="quiet">No answer</span>`}</dd>
    `)}</dl>`;
}

/** @param {Entry | LiveItem} entry */
function tagOf(entry) {
    const isDiscarded = "discardId" in entry && entry.discardId !== null;
    return { isDiscarded, tag: isDiscarded ? html`<span class="tag">not in context</span>` : null };
}

/** @param {{entry: Entry | LiveItem, jump: Jump | null}} props */
function Message({ entry, jump }) {
    const { place, isHit } = useHit(entry, jump);
    const { isDiscarded, tag } = tagOf(entry);
    if (entry.role === "user") {
        return html`<div class=${`prompt ${isDiscarded ? "is-discarded" : ""} ${isHit ? "is-hit" : ""}`} ref=${place} dir="auto">${tag}<${Prompt} entry=${entry} /></div>`;
    }
    const isGrowing = "isDone" in entry && !entry.isDone;
    return html`<div class=${`answer ${isDiscarded ? "is-discarded" : ""} ${isHit ? "is-hit" : ""}`} ref=${place} aria-busy=${isGrowing}>
        ${tag}<${Answer} text=${entry.text} isGrowing=${isGrowing} />
    </div>`;
}

/** @param {{entry: Entry | LiveItem}} props */
function Prompt({ entry }) {
    const { text, images } = saidIn(entry);
    const shown = images.filter((url) => SAFE_IMAGE.test(url));
    return html`
        ${shown.map((url, at) => html`<img key=${at} class="prompt-image" src=${url} alt=${`Image ${at + 1} of the prompt`} />`)}
        <p class="prompt-text">${visible(shown.length ? text : entry.text)}</p>
    `;
}

/**
 * Returns what a person typed as a prompt, and its images. The text of the entry names images too.
 * @param {Entry | LiveItem | undefined} entry
 * @returns {{text: string, images: string[]}}
 */
function saidIn(entry) {
    /** @type {any[]} */
    const content = entry?.detail?.content ?? [];
    const images = content.filter((part) => part.type === "image").map((part) => part.url ?? "");
    const texts = content.filter((part) => part.type === "text").map((part) => part.text);
    return { text: images.length ? texts.join("\n") : entry?.text ?? "", images };
}

/** @param {{entries: (Entry | LiveItem)[], folder?: string, isRunning: boolean, jump: Jump | null}} props */
function Activities({ entries, folder, isRunning, jump }) {
    const [isOpen, setOpen] = useState(false);
    useEffect(() => {
        if (entries.some((entry) => entry.id === jump?.entryId)) {
            setOpen(true);
        }
    }, [jump]);
    if (entries.length <= 2 || (isRunning && entries.length <= 4)) {
        return html`<div class="activities">${entries.map((entry) => html`<${Activity} key=${entry.id} entry=${entry} folder=${folder} jump=${jump} />`)}</div>`;
    }
    const isBad = entries.some((entry) => (entry.detail?.exitCode ?? 0) !== 0);
    return html`
        <div class="activities">
            <button class="activity-line" aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
                <${Icon} name="list" />
                <span class="activity-title">${summaryOf(entries)}</span>
                <span class="activity-facts">${isBad ? "with failures" : ""}</span>
                <span class="activity-chevron"><${Icon} name="chevron" /></span>
            </button>
            ${isOpen && html`<div class="activities-inner">
                ${entries.map((entry) => html`<${Activity} key=${entry.id} entry=${entry} folder=${folder} jump=${jump} />`)}
            </div>`}
        </div>
    `;
}

/** What moves while the agent works, and for how long it has.
 * @param {{thread: Thread, isSilent: boolean, startedAt: string}} props
 */
function Working({ thread, isSilent, startedAt }) {
    const { notice } = thread.live;
    const [now, setNow] = useState(Date.now());
    useEffect(() => {
        const timer = setInterval(() => setNow(Date.now()), SECOND_MS);
        return () => clearInterval(timer);
    }, []);
    const seconds = Math.max(0, now - Date.parse(startedAt));
    const asks = thread.questions.value.length > 0;
    const words = notice || (asks ? "Waiting for your answer" : isSilent ? "Working …" : "");
    return html`<p class="working"><span class="spinner" aria-hidden="true"></span>${words}
        <span class="quiet">${seconds >= SHOWN_FROM_MS ? duration(Math.round(seconds / SECOND_MS) * SECOND_MS).replace(".0", "") : ""}</span></p>`;
}

/** @param {{app: App, thread: Thread, row: TurnRow, answer: string}} props */
function TurnFoot({ app, thread, row, answer }) {
    const { turn, number } = row;
    const [isEditing, setEditing] = useState(false);
    const [isTrimming, setTrimming] = useState(false);
    thread.version.value; // whether it is busy depends on the state
    if (turn.status === "running") {
        return null;
    }
    const tookMs = turn.completedAt ? Date.parse(turn.completedAt) - Date.parse(turn.startedAt) : 0;
    const canTrim = app.offers("pin") && !row.isTrimmed;
    const isLast = thread.state?.turns.at(-1)?.id === turn.id;
    const prompt = row.entries.find((entry) => entry.kind === "message" && entry.role === "user");
    const said = saidIn(prompt);
    const again = () => {
        thread.stop.expect();
        app.prompts.again(thread.id, said.text, said.images);
    };
    const edit = () => {
        app.prompts.prepend(thread.id, said);
        goToPrompt();
    };
    const showFiles = () => {
        app.panel.value = "checkpoints";
        app.wantedTurn.value = number;
    };
    return html`
        ${turn.status === "failed" && html`<p class="turn-problem" role="note"><${Icon} name="warn" /><span>${turn.error || "The turn failed."}</span>
            ${isLast && html`<button class="button is-small" disabled=${thread.isBusy} onClick=${again}>Try again</button>`}</p>`}
        ${turn.status === "interrupted" && html`<p class="turn-note" role="note"><${Icon} name="stop" />Interrupted</p>`}
        <div class="turn-foot">
            <time datetime=${turn.startedAt}>${clock(turn.startedAt, Date.now())}</time>
            ${tookMs > 0 && html`<span>${duration(tookMs)}</span>`}
            <span class="turn-actions">
                ${answer && html`<${CopyButton} text=${answer} what="answer" />`}
                ${prompt && !row.isTrimmed && html`<button class="icon-button" onClick=${() => setEditing(true)} disabled=${thread.isBusy}
                    aria-label=${`Edit the prompt of turn ${number} and send it again`} title="Edit the prompt and send it again"><${Icon} name="edit" /></button>`}
                ${canTrim && html`<button class="icon-button" onClick=${() => app.command(thread, `/pin ${number}`)} disabled=${thread.isBusy}
                    aria-label=${`Pin turn ${number}`} title="Keep it in the context, whatever is trimmed"><${Icon} name="pin" /></button>
                <button class="icon-button" onClick=${() => setTrimming(true)} disabled=${thread.isBusy}
                    aria-label=${`Trim turn ${number}`} title="Clear, summarize or mask"><${Icon} name="fold" /></button>`}
                <button class="icon-button" onClick=${showFiles} aria-label=${`Files after turn ${number}`} title="Files and revert">
                    <${Icon} name="history" />
                </button>
            </span>
            ${isTrimming && html`<${StretchDialog} app=${app} thread=${thread} number=${number} close=${() => setTrimming(false)} />`}
            ${isEditing && html`<${RevertDialog} app=${app} thread=${thread} number=${number - 1} close=${() => setEditing(false)} after=${edit} />`}
        </div>
    `;
}
