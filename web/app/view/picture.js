/**
 * A picture of a conversation, which can be sent to somebody: the newest turns, as the page shows them.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 */
import { titleOf } from "../model/threads.js";
import { rowsOf } from "../model/timeline.js";
import { html, render } from "../vendor.js";
import { rowView } from "./timeline.js";

const MOST_ROWS = 60;
const TALLEST_PX = 8000; // twice of that is what browsers draw
const SCALE = 2;
const SVG = "http://www.w3.org/2000/svg";

/**
 * Saves a thread's newest turns as a PNG.
 * @param {App} app
 * @param {Thread} thread
 */
export async function savePicture(app, thread) {
    const overview = app.threads.value?.find((one) => one.id === thread.id);
    const title = titleOf({ name: thread.state?.name ?? null, preview: overview?.preview });
    const place = document.createElement("div");
    place.className = "picture";
    place.inert = true;
    document.body.append(place);
    try {
        const rows = thread.state ? rowsOf(thread.state, thread.expanded.value).filter((row) => row.kind !== "older") : [];
        render(html`<h1>${title}</h1>${rows.slice(-MOST_ROWS).map((row) => html`<div key=${row.key}>${rowView(app, thread, row)}</div>`)}`, place);
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve))); // until what was drawn has had its effects
        while (place.scrollHeight > TALLEST_PX && place.children.length > 2) {
            place.children[1].remove();
        }
        save(await drawn(place), title);
    } catch {
        app.notice.value = { kind: "problem", text: "This browser cannot make a picture. Send the thread as a file instead: trimpoint export --format html" };
    } finally {
        render(null, place);
        place.remove();
    }
}

/**
 * Returns an element as a PNG. An image loads nothing, so that its style goes along.
 * @param {HTMLElement} place
 * @returns {Promise<Blob>}
 */
async function drawn(place) {
    const { offsetWidth: width, scrollHeight: height } = place;
    const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
    const style = document.createElement("style");
    style.textContent = rules.map((rule) => rule.cssText).join("");
    const svg = document.createElementNS(SVG, "svg");
    const inside = document.createElementNS(SVG, "foreignObject");
    for (const element of [svg, inside]) {
        element.setAttribute("width", String(width));
        element.setAttribute("height", String(height));
    }
    const copy = /** @type {HTMLElement} */ (place.cloneNode(true));
    copy.style.inset = "0";
    // The theme of the page, whatever the image takes for its own.
    const now = getComputedStyle(place);
    const names = rules.flatMap((rule) => (rule instanceof CSSStyleRule && rule.selectorText === ":root" ? [...rule.style] : []));
    for (const name of names.filter((one) => one.startsWith("--"))) {
        copy.style.setProperty(name, now.getPropertyValue(name));
    }
    inside.append(style, copy);
    svg.append(inside);
    const image = new Image();
    image.src = `data:image/svg+xml,${encodeURIComponent(new XMLSerializer().serializeToString(svg))}`;
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [width * SCALE, height * SCALE];
    canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("nothing was drawn")))));
}

/**
 * @param {Blob} blob
 * @param {string} title
 */
function save(blob, title) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = `${(title.match(/[\p{L}\p{N}]+/gu) ?? ["thread"]).join("-").slice(0, 60)}.png`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
