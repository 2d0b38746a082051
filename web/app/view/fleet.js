/**
 * Threads of other machines: below the own ones, by machine, and one of them read and commanded.
 *
 * @import {App} from "../store/app.js"
 * @import {FleetOverview, ThreadOnHost} from "../protocol.js"
 * @import {FleetLine} from "../model/fleet.js"
 */
import { age, folderName } from "../model/format.js";
import { busyWords, linesOf } from "../model/fleet.js";
import { visible } from "../model/hidden.js";
import { html, useEffect, useState } from "../vendor.js";
import { Dialog } from "./dialogs.js";
import { Answer } from "./markdown.js";
import { LevelDot } from "./meter.js";

/** @param {{app: App, filter: string}} props */
export function OtherMachines({ app, filter }) {
    const { overview, problem } = app.fleet;
    const wanted = filter.trim().toLowerCase();
    const threads = (overview.value?.threads ?? []).filter(
        (one) => one.host !== overview.value?.host && !one.archived && `${titleOf(one)} ${one.host} ${one.cwd ?? ""}`.toLowerCase().includes(wanted),
    );
    return html`
        ${byHost(overview.value, threads, wanted === "").map(([host, members]) => html`
            <section key=${host} class="machine" aria-label=${`Machine ${host}`}>
                <h2>${host}<span class="quiet">${isOnline(overview.value, host) ? "" : "offline"}</span></h2>
                <ul>${members.map((one) => html`<li key=${one.id}><${MachineThread} app=${app} thread=${one} /></li>`)}</ul>
            </section>
        `)}
        ${problem.value && html`<p class="quiet sidebar-empty" role="status">${problem.value}</p>`}
    `;
}

/** @param {{app: App, thread: ThreadOnHost}} props */
function MachineThread({ app, thread }) {
    return html`
        <button class="session" title=${thread.cwd ?? thread.id} onClick=${() => { app.fleet.shown.value = thread; }}>
            <span class="thread-title" dir="auto">${titleOf(thread)}</span>
            <span class="thread-facts">
                ${thread.online && (thread.asks
                    ? html`<span class="asks">asks</span>`
                    : thread.busy && html`<span class="spinner" role="img" aria-label="busy"></span>`)}
                <${LevelDot} level=${thread.level} />
                <time datetime=${thread.updatedAt}>${age(thread.updatedAt, Date.now())}</time>
            </span>
        </button>
    `;
}

/** @param {{app: App}} props */
export function ShownMachineThread({ app }) {
    const thread = app.fleet.shownThread;
    return thread && html`<${ThreadDialog} key=${`${thread.host} ${thread.id}`} app=${app} thread=${thread} />`;
}

/** @param {{app: App, thread: ThreadOnHost}} props */
function ThreadDialog({ app, thread }) {
    const [lines, setLines] = useState(/** @type {FleetLine[] | null} */ (null));
    const [earlier, setEarlier] = useState(0);
    const [said, setSaid] = useState({ text: "", isProblem: false });
    const [isAsking, setAsking] = useState(false);
    useEffect(() => {
        app.fleet.events(thread).then(
            (answer) => { setLines(linesOf(answer.events)); setEarlier(answer.earlier); },
            (error) => setSaid({ text: error.message, isProblem: true }),
        );
    }, [thread.updatedAt]);
    const close = () => { app.fleet.shown.value = null; };
    /** @param {"clear" | "compact" | "interrupt"} command */
    const ask = async (command) => {
        setAsking(true);
        setSaid({ text: `Asking ${thread.host} …`, isProblem: false });
        const asked = { host: thread.host, threadId: thread.id, command, commandId: crypto.randomUUID() };
        try {
            const outcome = await app.session.request("fleet/execute", asked);
            setSaid({ text: outcome.message ?? "Done.", isProblem: outcome.status !== "completed" });
        } catch (error) {
            setSaid({ text: /** @type {Error} */ (error).message, isProblem: true });
        }
        setAsking(false);
        app.fleet.refresh();
    };
    const mayCommand = app.fleet.overview.value?.mayCommand && thread.online && !thread.archived;
    return html`
        <${Dialog} isWide title=${titleOf(thread)} close=${close}>
            <p class="quiet machine-facts">${factsOf(thread)}</p>
            <div class="session-text" tabindex="0" aria-label="What happened">
                ${earlier > 0 && html`<p class="quiet">${earlier} earlier events are not shown.</p>`}
                ${lines?.map((line) => html`<${Line} key=${line.key} line=${line} />`)}
                ${lines === null && !said.isProblem && html`<p class="quiet" aria-busy="true">Reading …</p>`}
            </div>
            <div class="dialog-foot">
                <span class=${said.isProblem ? "problem" : "quiet"} role=${said.isProblem ? "alert" : "status"}>${said.text}</span>
                <button class="button" onClick=${close}>Close</button>
                ${mayCommand && thread.busy && html`<button class="button" disabled=${isAsking} onClick=${() => ask("interrupt")}>Interrupt</button>`}
                ${mayCommand && html`
                    <button class="button" disabled=${isAsking} onClick=${() => ask("clear")}>Clear</button>
                    <button class="button is-main" disabled=${isAsking} onClick=${() => ask("compact")}>Compact</button>
                `}
            </div>
        <//>
    `;
}

/** @param {{line: FleetLine}} props */
function Line({ line }) {
    if (line.kind === "done") {
        return html`<p class="machine-line quiet"><time datetime=${line.at}>${line.at.slice(0, 16).replace("T", " ")}</time> ${visible(line.text)}</p>`;
    }
    return line.who === "user"
        ? html`<div class="prompt" dir="auto">${visible(line.text)}</div>`
        : html`<${Answer} text=${line.text} />`;
}

/** @param {ThreadOnHost} thread */
function titleOf(thread) {
    return thread.title || (thread.cwd ? folderName(thread.cwd) : `Thread ${thread.id.slice(-8)}`);
}

/** @param {ThreadOnHost} thread */
function factsOf(thread) {
    const facts = [
        thread.host,
        thread.online ? "" : "offline",
        thread.online && thread.busy ? busyWords(thread) : "",
        thread.percent === null || thread.percent === undefined ? "" : `context ${Math.round(thread.percent)} % full`,
        thread.turns ? `${thread.turns} turn${thread.turns === 1 ? "" : "s"}` : "",
        thread.compactions ? `compacted ×${thread.compactions}` : "",
        thread.cwd ?? "",
    ];
    return facts.filter((fact) => fact !== "").join(" · ");
}

/**
 * @param {FleetOverview | null} overview
 * @param {string} host
 */
function isOnline(overview, host) {
    return overview?.hosts.some((one) => one.host === host) ?? false;
}

/**
 * Machines by name with their threads; with `isAll` those without a thread, too.
 * @param {FleetOverview | null} overview
 * @param {ThreadOnHost[]} threads
 * @param {boolean} isAll
 * @returns {[string, ThreadOnHost[]][]}
 */
function byHost(overview, threads, isAll) {
    const present = isAll ? (overview?.hosts ?? []).map((one) => one.host) : [];
    const names = [...new Set([...present, ...threads.map((one) => one.host)])].filter((name) => name !== overview?.host);
    return names.toSorted().map((name) => [name, threads.filter((one) => one.host === name)]);
}
