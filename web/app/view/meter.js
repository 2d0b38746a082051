/**
 * How full the context is.
 *
 * @import {ContextStatus} from "../protocol.js"
 */
import { fullness, shortCount } from "../model/format.js";
import { html } from "../vendor.js";

/** @param {{context: ContextStatus}} props */
export function Meter({ context }) {
    const { percent, usedTokens, windowTokens } = context;
    const estimated = context.estimated || context.unknown;
    const share = percent === null ? null : Math.round(percent);
    const tokens = `${estimated ? "~" : ""}${shortCount(usedTokens)}${windowTokens ? ` / ${shortCount(windowTokens)}` : ""}`;
    const words = fullness(context);
    const cached = context.cachedPercent ?? null;
    const auto = context.auto?.isChosen ? `Automatic: ${context.auto.mode}, chosen for this thread.` : null;
    const more = [context.note, auto, cached === null ? null : `${Math.round(cached)}% of the last call came from the provider's cache.`];
    const title = more.filter(Boolean).join(" ") || words;
    return html`
        <div class=${`meter is-${context.level ?? "ok"}`} role="meter" aria-label="Context" aria-valuemin="0" aria-valuemax="100"
            aria-valuenow=${Math.min(share ?? 0, 100)} aria-valuetext=${words} title=${title}>
            ${share !== null && html`<span class="meter-bar"><span class="meter-fill" style=${{ width: `${Math.min(share, 100)}%` }}></span></span>`}
            ${share !== null && html`<span class="meter-share">${estimated ? "~" : ""}${share}%</span>`}
            <span class="meter-tokens">${tokens}</span>
        </div>
    `;
}

/** @param {{level: string | null | undefined}} props */
export function LevelDot({ level }) {
    return level === "warning" || level === "critical"
        ? html`<span class=${`level-dot is-${level}`} role="img" aria-label=${`context ${level}`}></span>`
        : null;
}
