/** Begins. */
import { App } from "./store/app.js";
import { html, render } from "./vendor.js";
import { Page } from "./view/page.js";

const app = new App();
render(html`<${Page} app=${app} />`, /** @type {HTMLElement} */ (document.getElementById("app")));
app.start();
