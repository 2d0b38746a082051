/**
 * Small drawings, in the colour of the text around them. A name that is a word of the interface stands beside each.
 */
import { html } from "../vendor.js";

/** @type {Record<string, string>} */
const PATHS = {
    chevron: "M6 4l4 4-4 4",
    plus: "M8 3v10M3 8h10",
    close: "M4 4l8 8M12 4l-8 8",
    menu: "M2.5 4.5h11M2.5 8h11M2.5 11.5h11",
    search: "M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9zM10.5 10.5L14 14",
    terminal: "M3 4.5L6.5 8 3 11.5M8 11.5h5",
    file: "M4 2.5h5l3 3v8H4zM9 2.5v3h3",
    edit: "M3 13l.6-2.6L10.4 3.6l2 2L5.6 12.4zM9 5l2 2",
    thought: "M8 2.5a4 4 0 0 0-2.2 7.3c.5.4.7.8.7 1.2h3c0-.4.2-.8.7-1.2A4 4 0 0 0 8 2.5zM6.5 13.5h3",
    tool: "M9.5 3a3 3 0 0 0-.3 4L3.5 12.7l.8.8L10 7.8a3 3 0 0 0 4-3.9l-1.8 1.8-1.4-.5-.5-1.4L12 2.3A3 3 0 0 0 9.5 3z",
    globe: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM2 8h12M8 2c2 2 2 10 0 12M8 2c-2 2-2 10 0 12",
    list: "M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.01M2.5 8h.01M2.5 12h.01",
    fold: "M3 3h10M3 13h10M8 5v6M6 9l2 2 2-2",
    history: "M2.5 8A5.5 5.5 0 1 0 4.2 4M2.5 2.5v2.5H5M8 5v3.2l2 1.3",
    layers: "M8 2.5L2.5 5.5 8 8.5l5.5-3zM2.5 8L8 11l5.5-3M2.5 10.5L8 13.5l5.5-3",
    image: "M2.5 3h11v10h-11zM2.5 11l3-3 2.5 2.5L10.5 8l3 3M5.5 6h.01",
    send: "M8 13V3M4 7l4-4 4 4",
    stop: "M4.5 4.5h7v7h-7z",
    copy: "M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3",
    check: "M3 8.5l3.5 3.5L13 4.5",
    archive: "M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3",
    fork: "M4.5 2.5v11M4.5 9c4 0 7-1 7-4M11.5 2.5v2.5",
    undo: "M3 6.5h6.5a3.5 3.5 0 0 1 0 7H6M5.5 3.5L2.5 6.5l3 3",
    warn: "M8 2.5l6 11H2zM8 7v3M8 11.8h.01",
    question: "M6 6a2 2 0 1 1 2.8 1.8c-.5.3-.8.7-.8 1.4M8 11.8h.01",
    pin: "M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v4.5",
    theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11M10 5h1.5M10 8h3M10 11h1.5",
    bell: "M4 11.5V7a4 4 0 0 1 8 0v4.5l1 1H3zM6.5 14h3",
    more: "M3 8a.6.6 0 1 0 1.2 0A.6.6 0 1 0 3 8M7.4 8a.6.6 0 1 0 1.2 0A.6.6 0 1 0 7.4 8M11.8 8a.6.6 0 1 0 1.2 0A.6.6 0 1 0 11.8 8",
};

/** @param {{name: string}} props */
export function Icon({ name }) {
    return html`
        <svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${PATHS[name]} /></svg>
    `;
}
