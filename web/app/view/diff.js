/**
 * A file's diff, line by line, or side by side where there is room.
 *
 * @import {Line} from "../model/diff.js"
 * @import {FileContent} from "../protocol.js"
 */
import { numbered, sides } from "../model/diff.js";
import { pathFrom } from "../model/format.js";
import { visible } from "../model/hidden.js";
import { keep, read } from "../store/kept.js";
import { html, signal, useEffect, useMemo, useRef, useState } from "../vendor.js";
import { Code, CopyButton, useLines } from "./code.js";
import { OpenFile } from "./open_file.js";

const MOST_LINES = 2000;
const MOST_CHARACTERS = 200_000;
const ROOM_PX = 880;
const isSplit = signal(read("sides") === true);

/** @param {{path?: string, file?: string | null, folder?: string, text: string, read?: () => Promise<FileContent>}} props `file`: its path from `/` on; `read`: reads the whole file, as it became */
export function Diff({ path, file, folder, text, read: readWhole }) {
    const [whole, setWholeFile] = useState(/** @type {{text: string, isCode: boolean, isCut?: boolean} | null} */ (null));
    const [isWhole, setWhole] = useState(false);
    const { place, hasRoom } = useRoom();
    const lines = visible(text).split("\n");
    const shown = isWhole ? lines : lines.slice(0, MOST_LINES);
    const isBeside = hasRoom && isSplit.value;
    const toggle = () => {
        isSplit.value = !isSplit.value;
        keep("sides", isSplit.value);
    };
    const open = async () => {
        if (whole) {
            setWholeFile(null);
            return;
        }
        try {
            const content = await /** @type {() => Promise<FileContent>} */ (readWhole)();
            const isCode = !content.binary && content.text !== null;
            const all = content.text ?? "";
            setWholeFile({ text: isCode ? all.slice(0, MOST_CHARACTERS) : "It is no text.", isCode, isCut: content.truncated || all.length > MOST_CHARACTERS });
        } catch (error) {
            setWholeFile({ text: /** @type {Error} */ (error).message, isCode: false });
        }
    };
    return html`
        <div class=${`diff ${isBeside ? "is-split" : ""}`} ref=${place}>
            <div class="diff-path" dir="ltr" title=${path}><span>${path && visible(pathFrom(path, folder))}</span>
                ${file && html`<${OpenFile} file=${file} lines=${lines} />`}
                ${path && html`<${CopyButton} text=${file || path} what="the path" />`}
                ${readWhole && html`<button class="button is-small" aria-pressed=${whole !== null} onClick=${open}>Whole file</button>`}
                ${hasRoom && html`<button class="button is-small" aria-pressed=${isBeside} onClick=${toggle}>Side by side</button>`}</div>
            ${whole && (whole.isCode ? html`<${Code} text=${whole.text} language=${endingOf(path)} />` : html`<p class="quiet">${whole.text}</p>`)}
            ${whole?.isCut && html`<p class="quiet">The rest is left out.</p>`}
            <${DiffLines} lines=${shown} path=${path} label=${`Changes of ${path ?? "files"}`} isSplit=${isBeside} />
            ${shown.length < lines.length && html`<button class="button is-small" onClick=${() => setWhole(true)}>
                Show the other ${lines.length - shown.length} lines</button>`}
        </div>
    `;
}

/** Returns whether the middle of the page is wide enough for two sides, and what to set as `ref`. */
function useRoom() {
    const place = useRef(/** @type {HTMLElement | null} */ (null));
    const [hasRoom, setRoom] = useState(false);
    useEffect(() => {
        const main = place.current?.closest(".main");
        const observer = new ResizeObserver(([{ contentRect }]) => setRoom(contentRect.width >= ROOM_PX));
        if (main) {
            observer.observe(main);
        }
        return () => observer.disconnect();
    }, []);
    return { place, hasRoom };
}

/** @param {string} [path] */
function endingOf(path) {
    return /[^./\s]*$/.exec(path ?? "")?.[0] ?? "";
}

/** Each line with its number and the colours of its language.
 * @param {{lines: string[], path?: string, label?: string, isSplit?: boolean}} props
 */
export function DiffLines({ lines, path = "", label, isSplit: isBeside = false }) {
    const text = lines.join("\n");
    const all = useMemo(() => numbered(lines), [text]);
    const language = endingOf(path);
    const removed = useSide(all, "removed", language);
    const added = useSide(all, "added", language);
    /** @param {Line} line @param {"before" | "after"} number */
    const lineView = (line, number) => {
        const sign = line.kind === "added" ? "+" : line.kind === "removed" ? "-" : line.kind === "same" ? " " : "";
        return html`<span class=${`diff-line is-${line.kind}`} data-number=${line[number] || undefined}>${sign}${(line.kind === "removed" ? removed : added).get(line) ?? line.text}${"\n"}</span>`;
    };
    const hasBoth = all.some((line) => line.kind === "removed") && all.some((line) => line.kind === "added");
    const rows = isBeside && hasBoth
        ? sides(all).flatMap(([left, right]) => (left === right && left?.kind === "place"
            ? [lineView(left, "before")]
            : [left ? lineView(left, "before") : html`<span></span>`, right ? lineView(right, "after") : html`<span></span>`]))
        : all.map((line) => lineView(line, line.kind === "removed" ? "before" : "after"));
    return html`<pre class=${isBeside && hasBoth ? "diff-sides" : ""} tabindex="0" dir="ltr" aria-label=${label}>${rows}</pre>`;
}

/**
 * Returns the lines of one side with their colours.
 * @param {Line[]} all
 * @param {"added" | "removed"} kind
 * @param {string} language
 * @returns {Map<Line, any>}
 */
function useSide(all, kind, language) {
    const side = useMemo(() => all.filter((line) => line.kind === kind || line.kind === "same"), [all]);
    const shown = useLines(side.map((line) => line.text).join("\n"), language);
    return useMemo(() => new Map(side.map((line, at) => [line, shown[at]])), [side, shown]);
}
