/**
 * What the agent asks and waits for.
 *
 * @import {App} from "../store/app.js"
 * @import {Question, Thread} from "../store/thread.js"
 */
import { wishesOf } from "../model/permissions.js";
import { html, useEffect, useRef, useState } from "../vendor.js";
import { asDiff, commandOf } from "./activity.js";
import { Code } from "./code.js";
import { Diff } from "./diff.js";
import { Icon } from "./icons.js";

/** @typedef {{key: string, words: string, result: object, isMain?: boolean}} Choice */

/** @param {{app: App, thread: Thread}} props */
export function Questions({ app, thread }) {
    const [question] = thread.questions.value;
    const others = thread.questions.value.length - 1;
    if (!question) {
        return null;
    }
    return html`
        <div class="questions" aria-live="assertive">
            ${question.method === "item/tool/requestUserInput"
                ? html`<${UserInput} key=${question.id} app=${app} thread=${thread} question=${question} />`
                : html`<${Approval} key=${question.id} app=${app} thread=${thread} question=${question} />`}
            ${others > 0 && html`<p class="quiet">${others} more wait behind it.</p>`}
        </div>
    `;
}

/** @param {{app: App, thread: Thread, question: Question}} props */
function Approval({ app, thread, question }) {
    const card = useRef(/** @type {HTMLElement | null} */ (null));
    const choices = choicesOf(question);
    useEffect(() => {
        // A person in the middle of a word must not approve something by its next letter.
        const typing = document.activeElement instanceof HTMLTextAreaElement && document.activeElement.value !== "";
        if (!typing) {
            card.current?.focus();
        }
    }, []);
    /** @param {Choice} choice */
    const choose = (choice) => app.answer(thread, question.id, choice.result);
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        const choice = choices.find((one) => one.key === event.key.toLowerCase());
        if (choice && event.target === card.current && !event.ctrlKey && !event.metaKey && !event.altKey) {
            event.preventDefault();
            choose(choice);
        }
    };
    return html`
        <section class="card" ref=${card} tabindex="-1" onKeyDown=${onKey} aria-label="The agent asks for approval">
            <h2><${Icon} name="question" />${titleOf(question)}</h2>
            ${question.params.reason && html`<p dir="auto">${question.params.reason}</p>`}
            <${Subject} thread=${thread} question=${question} />
            ${question.params.cwd && html`<p class="quiet" dir="ltr">in ${question.params.cwd}</p>`}
            <div class="card-choices">
                ${choices.map((choice) => html`
                    <button key=${choice.key} class=${choice.isMain ? "button is-main" : "button"} onClick=${() => choose(choice)}>
                        ${choice.words} <kbd>${choice.key}</kbd>
                    </button>
                `)}
            </div>
        </section>
    `;
}

/** @param {Question} question */
function titleOf({ method, params }) {
    if (params.networkApprovalContext?.host) {
        return `May it reach ${params.networkApprovalContext.host}?`;
    }
    return { "item/commandExecution/requestApproval": "May it run this command?", "item/fileChange/requestApproval": "May it change these files?" }[method]
        ?? "May it have more permissions?";
}

/** @param {{thread: Thread, question: Question}} props */
function Subject({ thread, question }) {
    const { method, params } = question;
    if (method === "item/permissions/requestApproval") {
        return html`<ul class="wishes">${wishesOf(params.permissions).map(({ words, path }) => html`
            <li key=${`${words} ${path}`}>${words}${path && html` <code dir="ltr">${path}</code>`}</li>
        `)}</ul>`;
    }
    if (params.command) {
        return html`<${Code} text=${commandOf(params.command)} language="bash" />`;
    }
    const changes = thread.live.items.get(params.itemId)?.detail?.changes ?? [];
    return changes.map((/** @type {any} */ change) => html`<${Diff} path=${change.path} folder=${thread.state?.cwd} text=${asDiff(change)} />`);
}

/**
 * Returns the answers that Codex offers, each with a key of its own.
 * @param {Question} question
 * @returns {Choice[]}
 */
function choicesOf({ method, params }) {
    if (method === "item/permissions/requestApproval") {
        return [
            { key: "y", words: "Allow for this turn", result: { permissions: params.permissions, scope: "turn" }, isMain: true },
            { key: "s", words: "Allow for the session", result: { permissions: params.permissions, scope: "session" } },
            { key: "n", words: "Decline", result: { permissions: {}, scope: "turn" } },
        ];
    }
    /** @type {any[]} */
    const offered = params.availableDecisions ?? ["accept", "acceptForSession", "decline", "cancel"];
    /** @type {Choice[]} */
    const choices = [];
    offered.forEach((decision, at) => {
        const [key, words] = wordsOf(decision, !offered.includes("decline"));
        const isFree = key !== "" && choices.every((one) => one.key !== key);
        choices.push({ key: isFree ? key : String(at + 1), words, result: { decision }, isMain: decision === "accept" });
    });
    return choices;
}

/**
 * @param {any} decision
 * @param {boolean} isOnlyNo
 * @returns {[key: string, words: string]}
 */
function wordsOf(decision, isOnlyNo) {
    switch (decision) {
        case "accept":
            return ["y", "Allow"];
        case "acceptForSession":
            return ["s", "Allow for the session"];
        case "decline":
            return ["n", "Decline"];
        case "cancel":
            return [isOnlyNo ? "n" : "c", "Decline and stop"];
    }
    const rule = decision.acceptWithExecpolicyAmendment?.execpolicy_amendment;
    if (rule) {
        return ["a", `Always allow ${commandOf(rule.join(" "))}`];
    }
    const network = decision.applyNetworkPolicyAmendment?.network_policy_amendment;
    if (network) {
        return network.action === "deny" ? ["d", `Never allow ${network.host}`] : ["a", `Always allow ${network.host}`];
    }
    return ["", JSON.stringify(decision)];
}

/** @param {{app: App, thread: Thread, question: Question}} props */
function UserInput({ app, thread, question }) {
    /** @type {any[]} */
    const asked = question.params.questions ?? [];
    const [answers, setAnswers] = useState(/** @type {Record<string, string>} */ ({}));
    const form = useRef(/** @type {HTMLFormElement | null} */ (null));
    useEffect(() => form.current?.querySelector("input")?.focus(), []);
    const isWhole = asked.every((one) => answers[one.id]);
    /** @param {Event} event */
    const submit = (event) => {
        event.preventDefault();
        if (isWhole) {
            const given = Object.fromEntries(asked.map((one) => [one.id, { answers: [answers[one.id]] }]));
            app.answer(thread, question.id, { answers: given });
        }
    };
    return html`
        <form class="card" ref=${form} onSubmit=${submit} aria-label="The agent asks">
            ${asked.map((one) => html`
                <fieldset key=${one.id}>
                    <legend dir="auto"><${Icon} name="question" />${one.question}</legend>
                    ${(one.options ?? []).map((/** @type {any} */ option) => html`
                        <label class="option" key=${option.label}>
                            <input type="radio" name=${one.id} value=${option.label} checked=${answers[one.id] === option.label}
                                onChange=${() => setAnswers({ ...answers, [one.id]: option.label })} />
                            <span dir="auto"><strong>${option.label}</strong> <span class="quiet">${option.description}</span></span>
                        </label>
                    `)}
                    ${(one.isOther || !one.options?.length) && html`
                        <input class="field" type=${one.isSecret ? "password" : "text"} dir="auto" aria-label="Another answer"
                            placeholder=${one.options?.length ? "Another answer" : "Your answer"}
                            onInput=${(/** @type {any} */ event) => setAnswers({ ...answers, [one.id]: event.target.value })} />
                    `}
                </fieldset>
            `)}
            <div class="card-choices"><button class="button is-main" disabled=${!isWhole}>Answer</button></div>
        </form>
    `;
}
