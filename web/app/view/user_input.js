/**
 * Questions of the agent that are answered in words.
 *
 * @import {App} from "../store/app.js"
 * @import {Question, Thread} from "../store/thread.js"
 */
import { visible } from "../model/hidden.js";
import { html, useState } from "../vendor.js";
import { goToPrompt, Keys, useSettled } from "./cards.js";
import { Icon } from "./icons.js";

/** @param {{app: App, thread: Thread, question: Question}} props */
export function UserInput({ app, thread, question }) {
    /** @type {any[]} */
    const asked = question.params.questions ?? [];
    const [answers, setAnswers] = useState(/** @type {ReadonlyMap<string, string>} */ (new Map()));
    const [hasKeys, setHasKeys] = useState(false);
    const isSettled = useSettled(question.id);
    const isWhole = asked.every((one) => answers.get(one.id)?.trim());
    /** @param {string} id @param {string} answer */
    const give = (id, answer) => setAnswers((now) => new Map(now).set(id, answer));
    /** @param {Event} event */
    const submit = (event) => {
        event.preventDefault();
        if (isWhole && isSettled) {
            const given = Object.fromEntries(asked.map((one) => [one.id, { answers: [answers.get(one.id)] }]));
            app.answer(thread, question.id, { answers: given });
            goToPrompt();
        }
    };
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        if (event.key === "Escape") {
            event.preventDefault();
            goToPrompt();
        } else if (event.repeat && event.key === "Enter") {
            event.preventDefault();
        }
    };
    return html`
        <form class="card" tabindex="-1" onSubmit=${submit} onKeyDown=${onKey} aria-label="The agent asks"
            onfocusin=${() => setHasKeys(true)} onfocusout=${() => setHasKeys(false)}>
            <div class="card-subject">
                ${asked.map((one) => html`
                    <fieldset key=${one.id}>
                        <legend dir="auto"><${Icon} name="question" />${visible(one.question)}</legend>
                        ${(one.options ?? []).map((/** @type {any} */ option) => html`
                            <label class="option" key=${option.label}>
                                <input type="radio" name=${one.id} value=${option.label} checked=${answers.get(one.id) === option.label}
                                    onChange=${() => give(one.id, option.label)} />
                                <span dir="auto"><strong>${visible(option.label)}</strong> <span class="quiet">${visible(option.description ?? "")}</span></span>
                            </label>
                        `)}
                        ${(one.isOther || !one.options?.length) && html`
                            <input class="field" type=${one.isSecret ? "password" : "text"} dir="auto" aria-label="Another answer"
                                placeholder=${one.options?.length ? "Another answer" : "Your answer"}
                                onInput=${(/** @type {any} */ event) => give(one.id, event.target.value)} />
                        `}
                    </fieldset>
                `)}
            </div>
            <div class="card-choices"><button class="button is-main" disabled=${!isWhole || !isSettled}>Answer</button></div>
            <${Keys} hasKeys=${hasKeys} answers=${html`<kbd>Enter</kbd> answers.`} />
        </form>
    `;
}
