/**
 * Everything that can be done or gone to, found by typing.
 *
 * @import {App} from "../store/app.js"
 * @import {CommandInfo} from "../protocol.js"
 * @import {Offer} from "../model/palette.js"
 */
import { isInEditor } from "../link/editor.js";
import { matching, threadOffers, turnTyped } from "../model/palette.js";
import { chooseTheme, theme, THEMES } from "../store/theme.js";
import { html, useEffect, useState } from "../vendor.js";
import { goToPrompt } from "./cards.js";
import { Dialog } from "./dialogs.js";

/** @param {{app: App, close: () => void}} props */
export function Palette({ app, close }) {
    const [typed, setTyped] = useState("");
    const [chosen, setChosen] = useState(0);
    const [commands, setCommands] = useState(/** @type {CommandInfo[]} */ ([]));
    useEffect(() => {
        app.attempt(() => app.session.read("commands/list")).then((answer) => setCommands(answer?.commands ?? []));
    }, []);
    const found = offersFor(app, typed, commands);
    const at = Math.min(chosen, found.length - 1);
    useEffect(() => document.getElementById(`palette-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
    /** @param {Offer} offer */
    const take = (offer) => {
        close();
        offer.act();
    };
    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            event.preventDefault();
            setChosen((at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % found.length);
        } else if (event.key === "Enter" && found[at]) {
            event.preventDefault();
            take(found[at]);
        }
    };
    return html`
        <${Dialog} title="Go to or do" close=${close}>
            <input class="field" type="text" role="combobox" autofocus aria-expanded="true" aria-controls="palette" aria-label="Go to or do"
                aria-activedescendant=${found[at] ? `palette-${at}` : undefined} placeholder="A command, a thread, or the number of a turn"
                value=${typed} onKeyDown=${onKey} onInput=${(/** @type {any} */ event) => { setTyped(event.target.value); setChosen(0); }} />
            <ul class="palette" id="palette" role="listbox" aria-label="What was found">
                ${found.map((offer, index) => html`
                    <li key=${offer.key} id=${`palette-${index}`} role="option" aria-selected=${index === at}
                        onMouseMove=${() => setChosen(index)} onClick=${() => take(offer)}>
                        <span dir="auto">${offer.words}</span><span class="quiet">${offer.hint}</span>
                    </li>
                `)}
            </ul>
            ${found.length === 0 && html`<p class="quiet" role="status">Nothing is called that.</p>`}
        <//>
    `;
}

/**
 * @param {App} app
 * @param {string} typed
 * @param {CommandInfo[]} commands
 */
function offersFor(app, typed, commands) {
    const thread = app.open.value;
    const count = thread?.state?.turns.length ?? 0;
    const turn = turnTyped(typed, count);
    if (turn !== null) {
        return [{ key: "turn", words: `Go to turn ${turn}`, hint: `of ${count}`, act: () => app.jumps.toTurn(turn) }];
    }
    /** @type {(words: string, hint: string, act: () => void) => Offer} */
    const offer = (words, hint, act) => ({ key: words, words, hint, act });
    const here = thread === null ? [] : [
        offer("First turn", "Alt+Home", () => app.jumps.toTurn(1, false)),
        offer("Newest turn", "Alt+End", () => app.jumps.toEnd()),
        offer("Search", "Ctrl+F", () => { app.panel.value = "search"; }),
        offer("Turns and their files", "Alt+2", () => { app.panel.value = "checkpoints"; }),
        offer("What the context holds", "Alt+3", () => { app.panel.value = "context"; }),
        offer("Rename this thread", "", () => { app.dialog.value = "rename"; }),
        offer("Fork this thread", "", () => { app.fork(thread); }),
        ...commands.map(({ usage, name, summary }) => ({
            key: usage, words: `/${name.replace(/^\//, "")}: ${summary}`, hint: "",
            act: () => {
                app.prompts.change(thread.id, (draft) => ({ ...draft, text: `/${name.replace(/^\//, "")} ` }));
                setTimeout(goToPrompt); // the dialog gives the focus back first
            },
        })),
    ];
    const threads = (app.threads.value ?? []).filter((one) => !one.archived && one.id !== thread?.id);
    const themes = isInEditor() ? [] : THEMES.map((one) => offer(`Theme: ${one}`, one === theme.value ? "now" : "", () => chooseTheme(one)));
    const all = [...here, ...themes, ...(app.shell ? [] : [offer("Open files in an editor", "", () => { app.dialog.value = "editor"; })]), offer("What all threads took", "", () => { app.dialog.value = "stats"; }), offer("New thread", "Alt+N", () => { app.dialog.value = "new"; }), ...threadOffers(threads, (id) => app.select(id))];
    return matching(all, typed);
}
