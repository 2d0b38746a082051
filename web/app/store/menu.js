/**
 * What the menus and commands of the shell around the page have the page do.
 *
 * @import {App} from "./app.js"
 */

/**
 * @param {App} app
 * @param {string} name of an entry of the shell's menu
 * @param {string} argument
 */
export function choose(app, name, argument) {
    switch (name) {
        case "new":
            app.dialog.value = "new";
            break;
        case "search":
        case "context":
        case "checkpoints":
            app.togglePanel(name);
            break;
        case "find":
            app.wantedSearch.value = argument;
            app.panel.value = "search";
            break;
        case "inspect":
            app.panel.value = "context";
            break;
        case "thread":
            app.select(argument);
            break;
        case "turn":
            app.jumps.toTurn(Number(argument));
            break;
        case "prompt":
            addToPrompt(app, argument);
            break;
    }
}

/**
 * @param {App} app
 * @param {string} words
 */
function addToPrompt(app, words) {
    const thread = app.open.value;
    if (thread) {
        app.jumps.uncover();
        app.prompts.change(thread.id, (draft) => ({ ...draft, text: draft.text ? `${draft.text.trimEnd()}\n${words}` : words }));
    }
}
