/**
 * Where a person types: prompts, images, and slash commands with their menu.
 *
 * @import {App} from "../store/app.js"
 * @import {Prompt} from "../store/prompts.js"
 * @import {Thread} from "../store/thread.js"
 * @import {CommandInfo} from "../protocol.js"
 */
import { blockerOf, runningTurn } from "../model/state.js";
import { isRefused } from "../store/app.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";
import { Icon } from "./icons.js";

const LARGEST_IMAGE_BYTES = 5 * 1024 * 1024;
const TALLEST_PX = 260;
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/;

/** @param {{app: App, thread: Thread}} props */
export function Composer({ app, thread }) {
    thread.version.value; // what blocks commands depends on the state
    const [text, setText] = useState("");
    const [images, setImages] = useState(/** @type {string[]} */ ([]));
    const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
    const menu = useMenu(app, text, setText, box);
    const blocker = thread.state && blockerOf(thread.state);
    const isCommand = menu.isCommand;
    const isArchived = thread.state?.archived ?? false;
    const readOnly = thread.state?.readOnly ?? null;

    useLayoutEffect(() => grow(box.current), [text]);
    useLayoutEffect(() => box.current?.focus(), [thread]);

    const submit = async () => {
        const typed = text.trim();
        if (!typed && images.length === 0) {
            return;
        }
        setText("");
        menu.close();
        if (isCommand && images.length === 0) {
            const outcome = await app.command(thread, typed);
            if (outcome === null || (outcome.handled && isRefused(outcome))) {
                setText((now) => now || typed); // so that it can be mended or sent again
            }
            if (outcome === null || outcome.handled) {
                return;
            }
        }
        setImages([]);
        await app.send(thread, { text: typed, images });
    };

    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        if (event.isComposing || menu.onKey(event)) {
            return;
        }
        if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            submit();
        } else if (event.key === "Escape" && isRunning(thread)) {
            event.preventDefault();
            app.interrupt(thread);
        }
    };

    /** @param {Iterable<File>} files */
    const take = async (files) => {
        for (const file of files) {
            if (!IMAGE.test(file.type) || file.size > LARGEST_IMAGE_BYTES) {
                app.notice.value = { kind: "problem", text: `${file.name || "The image"} is no PNG, JPEG, GIF or WebP of at most 5 MB.` };
                continue;
            }
            const url = await dataUrl(file);
            setImages((now) => [...now, url]);
        }
    };

    /** @param {ClipboardEvent} event */
    const onPaste = (event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        if (files.length) {
            event.preventDefault();
            take(files);
        }
    };

    /** @param {DragEvent} event */
    const onDrop = (event) => {
        if (event.dataTransfer?.files.length) {
            event.preventDefault();
            take(event.dataTransfer.files);
        }
    };

    const placeholder = isArchived ? "This thread is archived" : thread.holdsPrompts ? "Type the next prompt; it waits for this turn" : "Ask, or type / for commands";
    return html`
        <form class="composer" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); submit(); }} onDrop=${onDrop}
            onDragOver=${(/** @type {Event} */ event) => event.preventDefault()}>
            <${Queue} app=${app} thread=${thread} />
            ${menu.view(blocker)}
            ${images.length > 0 && html`<div class="composer-images">
                ${images.map((url, at) => html`
                    <span class="composer-image" key=${url.slice(-40)}>
                        <img src=${url} alt=${`Image ${at + 1}`} />
                        <button type="button" class="icon-button" aria-label=${`Remove image ${at + 1}`}
                            onClick=${() => setImages((now) => now.filter((_, index) => index !== at))}><${Icon} name="close" /></button>
                    </span>
                `)}
            </div>`}
            <textarea ref=${box} rows="1" dir="auto" value=${text} placeholder=${placeholder} aria-label="Prompt"
                disabled=${isArchived || readOnly !== null} onInput=${(/** @type {any} */ event) => setText(event.target.value)}
                onKeyDown=${onKey} onPaste=${onPaste} ...${menu.attributes}></textarea>
            <div class="composer-bar">
                <button type="button" class="icon-button" aria-label="Attach an image" title="Attach an image" disabled=${isArchived}
                    onClick=${() => picker.current?.click()}><${Icon} name="image" /></button>
                <input ref=${picker} type="file" accept="image/png,image/jpeg,image/gif,image/webp" multiple hidden
                    onChange=${(/** @type {any} */ event) => { take(event.target.files); event.target.value = ""; }} />
                <span class="composer-hint">
                    ${isCommand && blocker ? html`<span class="blocked" role="status">Blocked: ${blocker}</span>` : hintOf(thread)}
                </span>
                ${isRunning(thread)
                    ? html`<button type="button" class="send is-stop" aria-label="Interrupt" title="Interrupt (Esc)"
                          onClick=${() => app.interrupt(thread)}><${Icon} name="stop" /></button>`
                    : html`<button class="send" aria-label="Send" title="Send (Enter)"
                          disabled=${isArchived || (!text.trim() && images.length === 0)}><${Icon} name="send" /></button>`}
            </div>
        </form>
    `;
}

/** @param {Thread} thread */
function isRunning(thread) {
    return thread.state !== null && runningTurn(thread.state) !== null;
}

/** @param {Thread} thread */
function hintOf(thread) {
    return isRunning(thread)
        ? html`<kbd>Esc</kbd> interrupts`
        : html`<kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> begins a line`;
}

/** Prompts that wait, each of which can be taken back.
 * @param {{app: App, thread: Thread}} props
 */
function Queue({ app, thread }) {
    const queue = app.prompts.queueOf(thread.id);
    /** @param {Prompt} prompt */
    const remove = (prompt) => {
        queue.value = queue.value.filter((one) => one !== prompt);
    };
    return queue.value.length > 0 && html`
        <ul class="queue" aria-label="Waiting prompts">
            ${queue.value.map((prompt, at) => html`
                <li key=${at}><span class="tag">next</span><span class="queue-text" dir="auto">${prompt.text || "an image"}</span>
                    <button type="button" class="icon-button" aria-label="Do not send" onClick=${() => remove(prompt)}>
                        <${Icon} name="close" />
                    </button>
                </li>
            `)}
        </ul>
    `;
}

/**
 * The menu of slash commands: the daemon completes, arrows choose, Tab or Enter takes.
 * @param {App} app
 * @param {string} text
 * @param {(text: string) => void} setText
 * @param {{current: HTMLTextAreaElement | null}} box
 */
function useMenu(app, text, setText, box) {
    const [found, setFound] = useState(/** @type {CommandInfo[]} */ ([]));
    const [chosen, setChosen] = useState(0);
    const [closedFor, setClosedFor] = useState("");
    const isCommand = /^\s*[/:][a-z]*(?:\s|$)/i.test(text) && !text.includes("\n");
    useEffect(() => {
        let isCurrent = true;
        if (!isCommand) {
            setFound([]);
            return () => {};
        }
        app.session.request("commands/complete", { text: text.trim() }).then(
            (answer) => {
                if (isCurrent) {
                    setFound(answer.commands);
                    setChosen(0);
                }
            },
            () => {},
        );
        return () => {
            isCurrent = false;
        };
    }, [text, isCommand]);

    const isOpen = isCommand && found.length > 0 && closedFor !== text;
    const isWhole = found.length > 0 && text.trim().slice(1).toLowerCase().startsWith(found[Math.min(chosen, found.length - 1)].name.replace(/^\//, ""));
    /** @param {CommandInfo} command */
    const take = (command) => {
        const typed = `/${command.name.replace(/^\//, "")}${/[[<]/.test(command.usage) ? " " : ""}`;
        setText(typed);
        setClosedFor(typed);
        box.current?.focus();
    };
    return {
        isCommand,
        close: () => setFound([]),
        attributes: isOpen
            ? { "aria-controls": "slash-menu", "aria-activedescendant": `slash-${chosen}`, "aria-autocomplete": "list",
                "aria-haspopup": "listbox" }
            : {},
        /** @param {KeyboardEvent} event */
        onKey(event) {
            if (!isOpen) {
                return false;
            }
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
                const step = event.key === "ArrowDown" ? 1 : found.length - 1;
                setChosen((chosen + step) % found.length);
            } else if (event.key === "Tab" || (event.key === "Enter" && !isWhole)) {
                take(found[chosen]);
            } else if (event.key === "Escape") {
                setClosedFor(text);
            } else {
                return false;
            }
            event.preventDefault();
            return true;
        },
        /** @param {string | null} blocker */
        view: (blocker) => isOpen && html`
            <ul class="slash-menu" id="slash-menu" role="listbox" aria-label="Commands">
                ${found.map((command, at) => html`
                    <li key=${command.name} id=${`slash-${at}`} role="option" aria-selected=${at === chosen}
                        onMouseMove=${() => setChosen(at)}
                        onMouseDown=${(/** @type {Event} */ event) => { event.preventDefault(); take(command); }}>
                        <span class="slash-usage" title=${command.usage}>${command.usage.split(" ")[0]}<span class="slash-arguments"> ${shortArguments(command.usage)}</span></span>
                        <span class="slash-summary">${command.summary}</span>
                        ${blocker && html`<span class="slash-blocked">${blocker}</span>`}
                    </li>
                `)}
            </ul>
        `,
    };
}

/** What a person would type most: options are in the help.
 * @param {string} usage
 */
function shortArguments(usage) {
    return usage.replace(/^\S+/, "").replace(/ \[--[^\]]*\]/g, "").replace(/ \| --[\w-]+/g, "");
}

/** @param {HTMLTextAreaElement | null} box */
function grow(box) {
    if (box) {
        box.style.height = "auto";
        box.style.height = `${Math.min(box.scrollHeight, TALLEST_PX)}px`;
    }
}

/**
 * @param {File} file
 * @returns {Promise<string>}
 */
function dataUrl(file) {
    return new Promise((resolve, reject) => {
        const reader = new FileReader();
        reader.onload = () => resolve(String(reader.result));
        reader.onerror = () => reject(reader.error);
        reader.readAsDataURL(file);
    });
}
