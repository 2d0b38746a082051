/**
 * What the agent asks and waits for. The prompt keeps the keys until the person goes to a question.
 *
 * @import {App} from "../store/app.js"
 * @import {Question, Thread} from "../store/thread.js"
 * @import {Change} from "../model/changes.js"
 * @import {Choice} from "../model/approval.js"
 */
import { choicesOf, isKnown, SETTLED_MS, titleOf } from "../model/approval.js";
import { asDiff, changesOf, counts, placeOf } from "../model/changes.js";
import { counted, pathFrom } from "../model/format.js";
import { visible, whole } from "../model/hidden.js";
import { wishesOf } from "../model/permissions.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";
import { commandOf } from "./activity.js";
import { DiffLines } from "./diff.js";
import { Icon } from "./icons.js";
import { UserInput } from "./user_input.js";

const MOST_LINES = 5000;

/** @param {{app: App, thread: Thread}} props */
export function Questions({ app, thread }) {
    thread.liveVersion.value; // the changes of files that are asked for are live
    const [question] = thread.questions.value;
    const others = thread.questions.value.length - 1;
    if (!question) {
        return null;
    }
    const View = question.method === "item/tool/requestUserInput" ? UserInput : Approval;
    return html`
        <div class="questions">
            <p class="unseen" role="status">The agent asks. Alt and arrow up goes to its question.</p>
            <${View} key=${question.id} app=${app} thread=${thread} question=${question} />
            ${others > 0 && html`<p class="quiet">${counted(others, "more question")} after this one.</p>`}
        </div>
    `;
}

/** Gives the keys to the question that is shown. */
export function goToQuestion() {
    const card = /** @type {HTMLElement | null} */ (document.querySelector(".questions .card"));
    (/** @type {HTMLElement | null} */ (card?.querySelector("input")) ?? card)?.focus();
}

/** Gives the keys back to the prompt. */
export function goToPrompt() {
    /** @type {HTMLElement | null} */ (document.querySelector(".composer textarea"))?.focus();
}

/**
 * Returns whether what is asked stands there long enough to be answered.
 * @param {unknown} asked another value is another question
 */
export function useSettled(asked) {
    const [settled, setSettled] = useState(/** @type {unknown} */ (undefined));
    useEffect(() => {
        const timer = setTimeout(() => setSettled(asked), SETTLED_MS);
        return () => clearTimeout(timer);
    }, [asked]);
    return settled === asked;
}

/** Who has the keys, and how to change it.
 * @param {{hasKeys: boolean, answers: any, back?: string}} props
 */
export function Keys({ hasKeys, answers, back = "goes back to the prompt" }) {
    return html`<p class="card-keys"><span class=${hasKeys ? "" : "is-off"}>${answers} <kbd>Esc</kbd> ${back}.</span>
        <span class=${hasKeys ? "is-off" : ""}>Your keys go to the prompt. <kbd>Alt</kbd> <kbd>↑</kbd> or a click goes to this question.</span></p>`;
}

/** @param {{app: App, thread: Thread, question: Question}} props */
function Approval({ app, thread, question }) {
    const card = useRef(/** @type {HTMLElement | null} */ (null));
    const [hasKeys, setHasKeys] = useState(false);
    const [confirmed, setConfirmed] = useState(/** @type {Choice | null} */ (null));
    const isSettled = useSettled(confirmed?.key ?? "asked");
    const changes = changesOf(thread.live.items.get(question.params.itemId)?.detail);
    const [isShown, setShown] = useState(false);
    const known = isKnown(question, changes);
    const choices = choicesOf(question, known && isShown);
    /** @param {Choice} choice */
    const choose = (choice) => {
        if (choice.rule && confirmed === null) {
            setConfirmed(choice);
            card.current?.focus();
            return;
        }
        const hadKeys = card.current?.contains(document.activeElement);
        app.answer(thread, question.id, choice.result);
        if (hadKeys) {
            goToPrompt();
        }
    };
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        const choice = confirmed ? undefined : choices.find((one) => one.key === event.key.toLowerCase());
        if (event.key === "Escape") {
            event.preventDefault();
            if (confirmed) {
                setConfirmed(null);
            } else {
                goToPrompt();
            }
        } else if (scroll(card.current, event.key)) {
            event.preventDefault();
        } else if (event.repeat) {
            event.preventDefault(); // a key that is held answers nothing
        } else if (choice && isSettled) {
            event.preventDefault();
            choose(choice);
        }
    };
    const note = confirmed
        ? html`<kbd>Tab</kbd> chooses, <kbd>Enter</kbd> does it.`
        : html`${choices.map((choice) => html`<kbd>${choice.key}</kbd> `)} answer.`;
    return html`
        <section class="card" ref=${card} tabindex="-1" onKeyDown=${onKey} aria-label="The agent asks for approval"
            onfocusin=${() => setHasKeys(true)} onfocusout=${() => setHasKeys(false)}>
            <h2><${Icon} name="question" />${titleOf(question)} <span class="quiet">${sizeOf(question, changes)}</span></h2>
            ${confirmed
                ? html`<${Confirmation} choice=${confirmed} isSettled=${isSettled} choose=${choose} back=${() => setConfirmed(null)} />`
                : html`
                    <${Subject} question=${question} changes=${changes} folder=${thread.state?.cwd} onShown=${setShown} />
                    ${!known && html`<p class="problem">What it would do is not known in this window, so it cannot be allowed here.</p>`}
                    <div class="card-choices">
                        ${choices.map((choice) => html`
                            <button key=${choice.key} class=${choice.isMain ? "button is-main" : "button"} disabled=${!isSettled}
                                onClick=${() => choose(choice)}>${choice.words} <kbd>${choice.key}</kbd></button>
                        `)}
                    </div>
                `}
            <${Keys} hasKeys=${hasKeys} answers=${note} back=${confirmed ? "goes back" : undefined} />
        </section>
    `;
}

/** What stays for good is asked for once more, in its own words.
 * @param {{choice: Choice, isSettled: boolean, choose: (choice: Choice) => void, back: () => void}} props
 */
function Confirmation({ choice, isSettled, choose, back }) {
    return html`
        <p>This rule is written into Codex's configuration. It holds in every thread and every session, until you remove it:</p>
        <pre class="card-text" tabindex="0" dir="ltr">${whole(choice.rule ?? "")}</pre>
        <div class="card-choices">
            <button class="button" disabled=${!isSettled} onClick=${back}>Back</button>
            <button class="button is-main" disabled=${!isSettled} onClick=${() => choose(choice)}>Write the rule</button>
        </div>
    `;
}

/**
 * Returns how much there is to read.
 * @param {Question} question
 * @param {Change[]} changes
 */
function sizeOf({ params }, changes) {
    const lines = params.command ? commandOf(params.command).trimEnd().split("\n").length : 0;
    if (changes.length) {
        const { added, removed } = counts(changes);
        return `${counted(changes.length, "file")}, +${added} −${removed}`;
    }
    return lines > 1 ? counted(lines, "line") : "";
}

/** All that would be allowed, as a text that scrolls; `onShown` is told whether nothing was left out.
 * @param {{question: Question, changes: Change[], folder?: string, onShown: (isShown: boolean) => void}} props
 */
function Subject({ question, changes, folder, onShown }) {
    const { params, method } = question;
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const [isMore, setMore] = useState(false);
    const [most, setMost] = useState(MOST_LINES);
    const look = () => {
        const element = place.current;
        setMore(element !== null && element.scrollHeight - element.scrollTop - element.clientHeight > 4);
    };
    const texts = changes.map((change) => ({ path: placeOf(change), lines: whole(asDiff(change)).split("\n"), ...counts([change]) }));
    const command = params.command ? whole(commandOf(String(params.command))).split("\n") : [];
    const all = command.length + texts.reduce((sum, one) => sum + one.lines.length, 0);
    useLayoutEffect(look);
    useEffect(() => onShown(all <= most), [all <= most]);
    const host = params.networkApprovalContext;
    const asked = method === "item/permissions/requestApproval" ? params.permissions : params.additionalPermissions;
    return html`
        <div class="card-subject" ref=${place} tabindex="0" onScroll=${look} aria-label="What it would do">
            ${host?.host && html`<pre class="card-text" dir="ltr">${whole(`${host.host}${host.protocol ? ` (${host.protocol})` : ""}`)}</pre>`}
            ${command.length > 0 && html`<pre class="card-text" dir="ltr">${command.slice(0, most).join("\n")}</pre>`}
            ${texts.map((one) => html`
                <div class="diff" key=${one.path}>
                    <div class="diff-path" dir="ltr" title=${one.path}><span>${whole(pathFrom(one.path, folder))}</span>
                        <span class="added">+${one.added}</span> <span class="removed">−${one.removed}</span></div>
                    <${DiffLines} lines=${one.lines.slice(0, most)} path=${one.path} />
                </div>
            `)}
            ${asked && html`<ul class="wishes">${wishesOf(asked).map(({ words, path }) => html`
                <li key=${`${words} ${path}`}>${whole(words)}${path && html` <code dir="ltr">${whole(path)}</code>`}</li>
            `)}</ul>`}
            ${params.grantRoot && html`<p>It also asks to write below <code dir="ltr">${whole(params.grantRoot)}</code> for the session.</p>`}
        </div>
        ${all > most && html`<button class="button is-small" onClick=${() => setMost(all)}>Show the other ${counted(all - most, "line")}</button>`}
        ${isMore && html`<button class="card-more" onClick=${() => scroll(place.current?.closest(".card"), "PageDown")}>↓ more below</button>`}
        ${params.reason && html`<p class="card-reason" dir="auto"><span class="quiet">The agent says:</span> ${whole(params.reason)}</p>`}
        ${(params.cwd || folder) && html`<p class="quiet" dir="ltr">in ${visible(params.cwd || folder)}</p>`}
    `;
}

/**
 * Scrolls what is to be read in a card; returns whether the key does that.
 * @param {Element | null | undefined} card
 * @param {string} key
 */
function scroll(card, key) {
    const place = card?.querySelector(".card-subject");
    const steps = new Map([["ArrowDown", 40], ["ArrowUp", -40], ["PageDown", 0.9], ["PageUp", -0.9], ["Home", -Infinity], ["End", Infinity]]);
    const step = steps.get(key);
    if (!place || step === undefined) {
        return false;
    }
    const by = Math.abs(step) < 1 ? step * place.clientHeight : step;
    place.scrollTop = Math.max(0, Math.min(place.scrollHeight, place.scrollTop + by));
    return true;
}
