/**
 * What the model calls of all threads took, in a table.
 *
 * @import {App} from "../store/app.js"
 * @import {Stats, StatsRow} from "../protocol.js"
 */
import { counted, shortCount } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { titleOf } from "../model/threads.js";
import { html, useEffect, useState } from "../vendor.js";
import { Dialog } from "./dialogs.js";

const DAY_MS = 86_400_000;
const MOST = 100;
const AGAIN_MS = 3000;
const COLUMNS = ["Calls", "In", "Cached", "Out", "Trims", "Spared", "Read anew"];

/** @param {{app: App, close: () => void}} props */
export function StatsDialog({ app, close }) {
    const [by, setBy] = useState(/** @type {Stats["by"]} */ ("day"));
    const [days, setDays] = useState(30);
    const [stats, setStats] = useState(/** @type {Stats | null} */ (null));
    const [problem, setProblem] = useState("");
    useEffect(() => {
        let timer = 0;
        let isCurrent = true;
        const read = async () => {
            try {
                /** @type {Stats} */
                const answer = await app.session.read("stats/read", { by, sinceMs: days ? Date.now() - days * DAY_MS : null });
                if (isCurrent) {
                    setStats(answer);
                    timer = answer.countedThreads < answer.knownThreads ? setTimeout(read, AGAIN_MS) : 0;
                }
            } catch (error) {
                setProblem(/** @type {Error} */ (error).message);
            }
        };
        read();
        return () => {
            isCurrent = false;
            clearTimeout(timer);
        };
    }, [by, days]);
    const rows = stats?.by === "day" ? stats.rows.toReversed() : (stats?.rows ?? []);
    const left = Math.max(0, rows.length - MOST) + (stats?.moreRows ?? 0);
    return html`
        <${Dialog} isWide title="What all threads took" close=${close}>
            <div class="search-where">
                <label>By <select class="field" value=${by} onChange=${(/** @type {any} */ event) => setBy(event.target.value)}>
                    ${["day", "thread", "folder", "model"].map((one) => html`<option key=${one}>${one}</option>`)}</select></label>
                <label>Since <select class="field" value=${days} onChange=${(/** @type {any} */ event) => setDays(Number(event.target.value))}>
                    ${[[1, "a day ago"], [7, "a week ago"], [30, "30 days ago"], [0, "ever"]].map(([value, words]) => html`<option key=${value} value=${value}>${words}</option>`)}</select></label>
            </div>
            ${problem && html`<p class="problem" role="alert">${problem}</p>`}
            ${stats && stats.countedThreads < stats.knownThreads && html`
                <p class="quiet" role="status">Still being counted: ${stats.countedThreads.toLocaleString("en")} of ${counted(stats.knownThreads, "thread")}.</p>`}
            ${stats ? html`
                <div class="table sums session-text" tabindex="0" role="region" aria-label="Sums"><table>
                    <thead><tr><th scope="col">${stats.by}</th>${COLUMNS.map((name) => html`<th key=${name} scope="col" class="align-right">${name}</th>`)}</tr></thead>
                    <tbody>
                        <${Row} words=${counted(stats.total.threads, "thread")} row=${stats.total} />
                        ${rows.slice(0, MOST).map((row) => html`<${Row} key=${row.key} words=${nameOf(app, stats, row, close)} row=${row} />`)}
                    </tbody>
                </table></div>
                ${left > 0 && html`<p class="quiet">${left.toLocaleString("en")} more are not listed.</p>`}
                ${(stats.unreadableThreads ?? 0) > 0 && html`<p class="quiet">${counted(stats.unreadableThreads ?? 0, "thread")} cannot be read.</p>`}
                <p class="quiet">Tokens. What trims spared is an estimate; what was read anew is what they cost.</p>
            ` : !problem && html`<p class="quiet" aria-busy="true">Counting …</p>`}
        <//>
    `;
}

/**
 * @param {App} app
 * @param {Stats} stats
 * @param {StatsRow} row
 * @param {() => void} close
 */
function nameOf(app, { by }, row, close) {
    if (by === "thread") {
        const thread = app.threads.value?.find((one) => one.id === row.key);
        return html`<a href=${`#/thread/${row.key}`} onClick=${close}>${visible(thread ? titleOf(thread) : row.name || row.key.slice(-8))}</a>`;
    }
    return visible(row.key) || "unknown";
}

/** @param {{words: any, row: StatsRow}} props */
function Row({ words, row }) {
    const trims = Object.values(row.trims).reduce((sum, count) => sum + count, 0);
    const cached = row.inputTokens ? `${Math.round((row.cachedInputTokens * 100) / row.inputTokens)}%` : "";
    const facts = [
        row.calls.toLocaleString("en"), shortCount(row.inputTokens), cached, shortCount(row.outputTokens), trims || "",
        row.sparedTokens ? `~${shortCount(row.sparedTokens)}` : "", row.readAnewTokens ? shortCount(row.readAnewTokens) : "",
    ];
    return html`<tr><th scope="row" dir="auto" title=${row.name || row.key || undefined}>${words}</th>${facts.map((fact, at) => html`<td key=${at} class="align-right">${fact}</td>`)}</tr>`;
}
