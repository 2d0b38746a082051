/**
 * Where the context was trimmed: the divider, and the summary that stands for what is above it.
 *
 * @import {Thread} from "../store/thread.js"
 * @import {BannerRow, DividerRow} from "../model/timeline.js"
 */
import { clock, counted } from "../model/format.js";
import { statusOf } from "../model/state.js";
import { own } from "../model/words.js";
import { html, useState } from "../vendor.js";
import { CopyButton } from "./code.js";
import { Icon } from "./icons.js";
import { Markdown } from "./markdown.js";

/** @type {Record<string, string>} */
const KINDS = { clear: "cleared", compact: "compacted", auto: "compacted automatically", overflow: "compacted to make room",
    compress: "compressed", discard: "discarded", mask: "masked", autoMask: "automatically", agent: "discarded by the agent", edit: "edited" };

/** @param {{thread: Thread, row: DividerRow}} props */
export function ContextTrimPointDivider({ thread, row }) {
    const { point, isExpanded } = row;
    const kind = own(KINDS, point.trigger) ?? (point.summary ? "compacted" : "cleared");
    if (point.kind === "discard") {
        const taken = [[point.count, point.summary ? "summarized" : "taken out"], [point.masked, "masked"]].filter(([count]) => count);
        const words = taken.map(([count, what]) => `${count === 1 ? "1 entry" : `${count} entries`} ${what}`).join(", ");
        return html`
            <div class="divider" role="separator" aria-label=${words}>
                <span class="divider-line"></span>
                <span class="divider-label">
                    <${Icon} name="fold" />${words}<span class="divider-kind">${kind}</span>
                </span>
                <span class="divider-line"></span>
            </div>
        `;
    }
    const status = thread.state ? statusOf(thread.state, point) : "applied";
    return html`
        <div class="divider" data-trim-point=${point.id}>
            <span class="divider-line"></span>
            <button class="divider-label" aria-expanded=${isExpanded} onClick=${() => thread.toggle(point.id)}>
                <span class="divider-chevron"><${Icon} name="chevron" /></span>
                <span class="divider-title">Earlier messages</span>
                <span class="divider-count">${counted(point.count, "message")} pruned</span>
                <span class="divider-kind">${kind}</span>
                <time datetime=${point.createdAt}>${clock(point.createdAt, Date.now())}</time>
                ${status !== "applied" && html`<span class="tag">${status === "pending" ? "starting" : "with the next turn"}</span>`}
            </button>
            <span class="divider-line"></span>
        </div>
    `;
}

/** @param {{row: BannerRow}} props */
export function ContextSummaryBanner({ row }) {
    const [isOpen, setOpen] = useState(true);
    return html`
        <aside class="banner" aria-label="Context compacted">
            <h2 class="unseen">Summary</h2>
            <header class="banner-head">
                <button aria-expanded=${isOpen} onClick=${() => setOpen(!isOpen)}>
                    <${Icon} name="layers" />
                    <span>Context compacted</span>
                    <span class="banner-count">${counted(row.point.count, "message")} summarized</span>
                    <span class="divider-chevron"><${Icon} name="chevron" /></span>
                </button>
                <${CopyButton} text=${row.summary} what="summary" />
            </header>
            ${isOpen && html`<div class="banner-text"><${Markdown} text=${row.summary} /></div>`}
        </aside>
    `;
}
