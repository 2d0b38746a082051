/**
 * Where a person types: prompts, images, and slash commands with their menu.
 *
 * @import {App} from "../store/app.js"
 * @import {Thread} from "../store/thread.js"
 * @import {CommandInfo} from "../protocol.js"
 */
import { unsent } from "../model/draft.js";
import { folded, isLong, standing, unfolded } from "../model/pastes.js";
import { blockerOf, runningTurn } from "../model/state.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../vendor.js";
import { useFiles } from "./files_menu.js";
import { Icon } from "./icons.js";
import { Queue } from "./queue.js";
import { Settings } from "./settings.js";

const LARGEST_IMAGE_BYTES = 5 * 1024 * 1024;
const TALLEST_PX = 260;
const LONG_TEXT = 20_000; // to measure it takes longer than to type a key
const LATE_AFTER_MS = 1500;
const NONE = -1;
const IMAGE = /^image\/(?:png|jpeg|gif|webp)$/;

/** @param {{app: App, thread: Thread}} props */
export function Composer({ app, thread }) {
    thread.version.value; // what blocks commands depends on the state
    const { prompts } = app;
    const draft = prompts.draftOf(thread.id).value;
    const { text, images } = draft;
    /** @param {string} typed */
    const setText = (typed) => prompts.change(thread.id, (now) => ({ ...now, text: typed }));
    const box = useRef(/** @type {HTMLTextAreaElement | null} */ (null));
    const picker = useRef(/** @type {HTMLInputElement | null} */ (null));
    const typed = unsent(draft);
    const menu = useMenu(app, typed, setText, box);
    const files = useFiles(app, thread, text, setText, box);
    const recall = useRecall(thread, text, setText);
    const blocker = thread.state && blockerOf(thread.state);
    const isCommand = menu.isCommand && images.length === 0;
    const isArchived = thread.state?.archived ?? false;
    const isClosed = isArchived || (thread.state?.readOnly ?? null) !== null;
    const isEmpty = !typed && images.length === 0;

    useLayoutEffect(() => grow(box.current), [text]);
    useLayoutEffect(() => box.current?.focus(), [thread]);

    /** @param {boolean} isLater whether it waits for its turn */
    const submit = (isLater) => {
        menu.close();
        const now = prompts.draftOf(thread.id).value; // a key may come before the one before it is drawn
        const isTyped = isCommandLine(unsent(now)) && now.images.length === 0;
        if (!isClosed) {
            app.submit(thread, isTyped ? "command" : isRunning(thread) && !isLater ? "steer" : "prompt");
        }
    };

    /** @param {KeyboardEvent} event */
    const onKey = (event) => {
        if (event.isComposing || menu.onKey(event) || files.onKey(event) || recall(event)) {
            return;
        }
        if (event.key === "Enter" && !event.shiftKey) {
            event.preventDefault();
            if (!event.repeat) {
                submit(event.altKey || event.ctrlKey || event.metaKey);
            }
        } else if (event.key === "Escape" && thread.stop.isPossible) {
            event.preventDefault();
            stop(app, thread);
        }
    };

    /** @param {File[]} files */
    const take = async (files) => {
        for (const file of files) {
            if (!IMAGE.test(file.type) || file.size > LARGEST_IMAGE_BYTES) {
                app.notice.value = { kind: "problem", text: `${file.name || "The image"} is no PNG, JPEG, GIF or WebP of at most 5 MB.` };
                continue;
            }
            const url = await dataUrl(file);
            prompts.change(thread.id, (now) => ({ ...now, images: [...now.images, url] }));
        }
    };

    /** @param {ClipboardEvent} event */
    const onPaste = (event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        const pasted = event.clipboardData?.getData("text/plain") ?? "";
        if (files.length) {
            event.preventDefault();
            take(files);
        } else if (isLong(pasted)) {
            event.preventDefault();
            const paste = folded(pasted.replaceAll("\r\n", "\n"), draft.pastes);
            prompts.change(thread.id, (now) => ({ ...now, pastes: [...now.pastes, paste] }));
            if (!document.execCommand("insertText", false, paste.word)) { // which can be undone, but is no promise of browsers
                const target = /** @type {HTMLTextAreaElement} */ (event.target);
                target.setRangeText(paste.word, target.selectionStart, target.selectionEnd, "end");
                setText(target.value);
            }
        }
    };

    /** @param {DragEvent} event */
    const onDrop = (event) => {
        if (event.dataTransfer?.files.length) {
            event.preventDefault();
            take([...event.dataTransfer.files]);
        }
    };

    /** @param {number} index */
    const removeImage = (index) => prompts.change(thread.id, (now) => ({ ...now, images: now.images.filter((_, at) => at !== index) }));
    const placeholder = isArchived ? "This thread is archived" : isRunning(thread) ? "Tell the agent more, or queue what comes next" : "Ask, / for commands, @ for files";
    return html`
        <form class="composer" onSubmit=${(/** @type {Event} */ event) => { event.preventDefault(); submit(false); }} onDrop=${onDrop}
            onDragOver=${(/** @type {Event} */ event) => event.preventDefault()}>
            <${Queue} app=${app} thread=${thread} />
            ${menu.view(blocker)}
            ${files.view()}
            ${images.length > 0 && html`<div class="composer-images">
                ${images.map((url, at) => html`
                    <span class="composer-image" key=${url.slice(-40)}>
                        <img src=${url} alt=${`Image ${at + 1}`} />
                        <button type="button" class="icon-button" aria-label=${`Remove image ${at + 1}`}
                            onClick=${() => removeImage(at)}><${Icon} name="close" /></button>
                    </span>
                `)}
            </div>`}
            <textarea ref=${box} rows="1" dir="auto" value=${text} placeholder=${placeholder} aria-label="Prompt"
                disabled=${isClosed} onInput=${(/** @type {any} */ event) => setText(event.target.value)}
                onKeyDown=${onKey} onPaste=${onPaste} ...${menu.attributes} ...${files.attributes}></textarea>
            ${standing(typed, draft.pastes).map(({ word }) => html`
                <p class="paste" key=${word}><span>${word.slice(1, -1)}</span>
                    <button type="button" class="button is-small" title="Put it into the box word for word"
                        onClick=${() => { setText(unfolded(text, draft.pastes.filter((one) => one.word === word))); box.current?.focus(); }}>Show</button></p>
            `)}
            <${NotSent} app=${app} thread=${thread} />
            <div class="composer-bar">
                <button type="button" class="icon-button" aria-label="Attach images" title="Attach images" disabled=${isClosed}
                    onClick=${() => picker.current?.click()}><${Icon} name="image" /></button>
                <input ref=${picker} type="file" accept="image/png,image/jpeg,image/gif,image/webp" multiple hidden
                    onChange=${(/** @type {any} */ event) => { take([...event.target.files]); event.target.value = ""; }} />
                <span class="composer-hint">
                    ${isCommand && typed && blocker ? html`<span class="blocked" role="status">Blocked: ${blocker}</span>` : hintOf(thread, isEmpty)}
                </span>
                ${isRunning(thread) && !isEmpty && !isCommand && html`
                    <button type="button" class="button is-small" title="Send it after this turn (Alt+Enter)" onClick=${() => submit(true)}>Queue</button>`}
                ${thread.stop.isPossible && html`
                    <button type="button" class="send is-stop" aria-label="Interrupt" title="Interrupt (Esc)"
                        onClick=${() => stop(app, thread)}><${Icon} name="stop" /></button>`}
                ${(!thread.stop.isPossible || !isEmpty) && html`
                    <button class="send" aria-label="Send" title=${isRunning(thread) ? "Tell the agent now (Enter)" : "Send (Enter)"}
                        disabled=${isClosed || isEmpty}><${Icon} name="send" /></button>`}
            </div>
        </form>
        <${Settings} app=${app} thread=${thread} />
    `;
}

/** @param {Thread} thread */
function isRunning(thread) {
    return thread.state !== null && runningTurn(thread.state) !== null;
}

/**
 * @param {Thread} thread
 * @param {boolean} isEmpty
 */
function hintOf(thread, isEmpty) {
    if (thread.questions.value.length) {
        return html`<kbd>Alt</kbd> <kbd>↑</kbd> goes to the question, <kbd>Esc</kbd> interrupts`;
    }
    if (thread.stop.isPossible && isEmpty) {
        return html`<kbd>Esc</kbd> interrupts`;
    }
    if (!isRunning(thread)) {
        return html`<kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> starts a new line`;
    }
    return html`<kbd>Enter</kbd> tells the agent now, <kbd>Alt</kbd> <kbd>Enter</kbd> queues`;
}

/**
 * Stops what runs; without a connection, what was not sent yet is not sent.
 * @param {App} app
 * @param {Thread} thread
 */
function stop(app, thread) {
    if (app.session.state.value === "open") {
        app.interrupt(thread);
    } else {
        takeBack(app, thread);
    }
}

/**
 * @param {App} app
 * @param {Thread} thread
 */
function takeBack(app, thread) {
    app.prompts.takeBack(thread.id);
    thread.stop.forget();
}

/** Says so when what was sent has not been acknowledged.
 * @param {{app: App, thread: Thread}} props
 */
function NotSent({ app, thread }) {
    const { sending } = app.prompts.draftOf(thread.id).value;
    const [isLate, setLate] = useState(false);
    const id = sending[0]?.id;
    useEffect(() => {
        setLate(false);
        const timer = setTimeout(() => setLate(true), LATE_AFTER_MS);
        return () => clearTimeout(timer);
    }, [id]);
    if (!id || !(isLate || app.session.state.value !== "open")) {
        return null;
    }
    return html`<p class="not-sent" role="status"><${Icon} name="warn" />
        <span>Not sent yet: the daemon does not answer.</span>
        <button type="button" class="button is-small" onClick=${() => takeBack(app, thread)}>Do not send</button></p>`;
}

/**
 * Brings earlier prompts back into the empty box, by the arrows.
 * @param {Thread} thread
 * @param {string} text
 * @param {(text: string) => void} setText
 */
function useRecall(thread, text, setText) {
    const recalled = useRef(/** @type {{prompts: string[], at: number}} */ ({ prompts: [], at: 0 }));
    /** @param {KeyboardEvent} event */
    return (event) => {
        if (!["ArrowUp", "ArrowDown"].includes(event.key) || event.altKey || event.shiftKey || event.ctrlKey || event.metaKey) {
            return false;
        }
        const now = recalled.current;
        const { value, selectionStart, selectionEnd } = /** @type {HTMLTextAreaElement} */ (event.target);
        const beyond = event.key === "ArrowUp" ? value.slice(0, selectionStart) : value.slice(selectionEnd);
        if (beyond.includes("\n")) {
            return false; // the arrow goes through the lines
        }
        if (text === "") {
            recalled.current = { prompts: promptsOf(thread), at: -1 };
        } else if (text !== now.prompts[now.at]) {
            return false;
        }
        const { prompts, at } = recalled.current;
        const next = at + (event.key === "ArrowUp" ? 1 : -1);
        if (next >= prompts.length || next < -1) {
            return false;
        }
        event.preventDefault();
        recalled.current.at = next;
        setText(prompts[next] ?? "");
        return true;
    };
}

/**
 * Returns the prompts of a thread that are known, the newest first.
 * @param {Thread} thread
 */
function promptsOf(thread) {
    const entries = (thread.state?.turns ?? []).flatMap((turn) => thread.state?.entries.get(turn.id) ?? []);
    const texts = entries.filter((entry) => entry.kind === "message" && entry.role === "user").map((entry) => entry.text);
    return [...new Set(texts.reverse())].filter(Boolean);
}

/**
 * The menu of slash commands: the daemon completes, arrows choose, Tab or Enter takes.
 * @param {App} app
 * @param {string} text
 * @param {(text: string) => void} setText
 * @param {{current: HTMLTextAreaElement | null}} box
 */
function useMenu(app, text, setText, box) {
    const [answer, setAnswer] = useState(/** @type {{text: string, commands: CommandInfo[]}} */ ({ text: "", commands: [] }));
    const [chosen, setChosen] = useState(0);
    const [closedFor, setClosedFor] = useState("");
    const wanted = useRef(""); // the text for which Tab was pressed before its rows came
    const isCommand = isCommandLine(text);
    const found = answer.commands;
    useEffect(() => {
        let isCurrent = true;
        if (!isCommand) {
            setAnswer({ text: "", commands: [] });
            return () => {};
        }
        app.session.read("commands/complete", { text: text.trim() }).then(
            ({ commands }) => {
                if (isCurrent) {
                    setAnswer({ text, commands });
                    if (wanted.current === text && text.trim().length > 1 && commands[0]) {
                        take(commands[0]);
                    }
                    setChosen(text.trim().length > 1 ? 0 : NONE); // nothing that trims is chosen by a slash alone
                }
            },
            () => {},
        );
        return () => {
            isCurrent = false;
        };
    }, [text, isCommand]);

    const isOpen = isCommand && found.length > 0 && closedFor !== text;
    const row = found[chosen];
    const isWhole = row && text.trim().slice(1).toLowerCase().startsWith(row.name.replace(/^\//, ""));
    /** @param {CommandInfo} command */
    const take = (command) => {
        const typed = `/${command.name.replace(/^\//, "")}${/[[<]/.test(command.usage) ? " " : ""}`;
        setText(typed);
        setClosedFor(typed);
        box.current?.focus();
    };
    return {
        isCommand,
        close: () => setAnswer({ text: "", commands: [] }),
        attributes: isOpen
            ? { "aria-controls": "slash-menu", "aria-activedescendant": row ? `slash-${chosen}` : undefined, "aria-autocomplete": "list",
                "aria-haspopup": "listbox" }
            : {},
        /** @param {KeyboardEvent} event */
        onKey(event) {
            if (isCommand && answer.text !== text && event.key === "Tab" && !event.shiftKey) {
                wanted.current = text; // the rows for it are on their way
            } else if (!isOpen || (answer.text !== text && event.key === "Enter")) {
                return false;
            } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
                const step = event.key === "ArrowDown" ? 1 : -1;
                setChosen(chosen === NONE && step < 0 ? found.length - 1 : (chosen + step + found.length) % found.length);
            } else if (event.key === "Tab" || (event.key === "Enter" && !isWhole)) {
                if (row) {
                    take(row);
                }
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
            <ul class="slash-menu" id="slash-menu" role="listbox" tabindex="0" aria-label="Commands">
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

/**
 * Returns whether a text is a command, or the beginning of one.
 * @param {string} text
 */
function isCommandLine(text) {
    return /^\s*[/:][a-z]*(?:\s|$)/i.test(text) && !text.includes("\n");
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
        box.style.height = `${box.value.length > LONG_TEXT ? TALLEST_PX : Math.min(box.scrollHeight, TALLEST_PX)}px`;
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
