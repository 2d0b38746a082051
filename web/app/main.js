/** Begins. */
import { editorShell, isInEditor } from "./link/editor.js";
import { keptLogin } from "./link/login.js";
import { isInShell, overShell, shellObject } from "./link/shell.js";
import { overWebSocket } from "./link/socket.js";
import { App } from "./store/app.js";
import { showTheme } from "./store/theme.js";
import { html, render } from "./vendor.js";
import { Page } from "./view/page.js";

const shell = isInEditor() ? editorShell() : isInShell() ? await shellObject() : null;
if (!shell && !keptLogin()) {
    location.replace("/login");
}
const page = /** @type {{ahead?: import("./link/ahead.js").Ahead}} */ (globalThis);
page.ahead ??= undefined; // from now on no other one is begun
if (!isInEditor()) {
    showTheme();
}
const app = new App(shell);
render(html`<${Page} app=${app} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
app.start(shell ? overShell(shell) : overWebSocket(page.ahead));
