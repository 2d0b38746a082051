"""What a person types is never lost, and sent once: over cuts, reloads and other threads."""

from typing import Any

import anyio
import pytest
from trimpoint.testkit import ModelRequest, Reply, hang, held, say

from tests.web.browser import CUT, expected, needs_browser, until_counted
from tests.web.stage import DOT, PASTE, Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

# Neither sends nor receives while `frozen` is set, as a network that is gone without a word.
FREEZE = """() => {
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) {
        if (!window.frozen || this.born > window.frozen) {
            send.call(this, data);
        }
    };
}"""


def box(stage: Stage) -> Any:
    return stage.page.locator("textarea")


async def until_typed(stage: Stage, text: str) -> None:
    from playwright.async_api import expect

    await expect(box(stage)).to_have_value(text)


async def test_a_prompt_without_a_connection_stays_in_the_box_and_is_sent_once(
    stage: Stage,
) -> None:
    await stage.page.add_init_script(f"({CUT})()")
    await stage.thread()
    await stage.page.reload()
    await stage.turns("one?|apple-1.")
    await stage.cut_off()
    await stage.send("two?")
    await stage.page.get_by_text("Not sent yet").wait_for()
    assert await box(stage).input_value() == "two?"
    stage.will_answer(say("pear-2."))
    await stage.let_through()
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()
    await until_typed(stage, "")
    await stage.idle()
    assert await stage.page.locator(".prompt").all_inner_texts() == ["one?", "two?"]
    assert len(stage.house.model.turn_requests()) == 2
    # The refused connections while it was cut off are what the browser complains of.
    stage.page.faults.clear()


async def test_a_prompt_whose_answer_was_lost_is_not_sent_again(stage: Stage) -> None:
    await stage.page.add_init_script(f"({CUT})()")
    await stage.thread()
    await stage.page.reload()
    await stage.turns("one?|apple-1.")
    stage.will_answer(say("pear-2."))
    await box(stage).fill("two?")
    # The prompt goes out, and the connection ends before its answer comes.
    await stage.page.evaluate("""() => {
        const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (data) {
            send.call(this, data);
            if (data.includes("thread.queue.add") && !window.wasCut) {
                window.wasCut = true;
                window.cut();
            }
        };
    }""")
    await stage.page.keyboard.press("Enter")
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()
    await until_typed(stage, "")
    await stage.idle()
    assert await stage.page.locator(".prompt").all_inner_texts() == ["one?", "two?"]
    assert len(stage.house.model.turn_requests()) == 2


async def test_a_draft_with_its_image_is_there_after_another_thread_and_a_reload(
    stage: Stage,
) -> None:
    first = await stage.thread()
    await box(stage).fill("half a prompt")
    await stage.page.evaluate(PASTE, DOT)
    await stage.page.locator(".composer-image").wait_for()
    await stage.thread()
    await until_typed(stage, "")
    await until_counted(stage.page.locator(".composer-image"), 0)
    await stage.show(first)
    await until_typed(stage, "half a prompt")
    await stage.page.reload()
    await until_typed(stage, "half a prompt")
    await until_counted(stage.page.locator(".composer-image"), 1)
    stage.will_answer(say("apple-1."))
    await stage.page.keyboard.press("Enter")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    assert DOT in stage.model_input()
    await until_typed(stage, "")
    await stage.page.reload()
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await until_typed(stage, "")


async def test_enter_tells_a_working_agent_and_alt_enter_queues(stage: Stage) -> None:
    await stage.thread()
    ended = anyio.Event()
    stage.will_answer(held(say("apple-1."), ended), say("pear-2."), say("plum-3."))
    await stage.send("one?")
    await stage.page.get_by_label("Interrupt").wait_for()
    await stage.queue("last")
    await stage.queue("later")
    waiting = stage.page.get_by_label("Waiting prompts").get_by_role("listitem")
    await until_counted(waiting, 2)
    await waiting.last.get_by_label("Move up").click()
    await waiting.first.get_by_text("later").wait_for()
    await waiting.last.get_by_label("Edit").click()
    await until_typed(stage, "last")
    await until_counted(waiting, 1)
    await stage.send("told now")
    await until_typed(stage, "")
    ended.set()
    await stage.page.locator(".main").get_by_text("plum-3.", exact=True).wait_for()
    await stage.idle()
    prompts = await stage.page.locator(".prompt").all_inner_texts()
    assert prompts == ["one?", "told now", "later"]


async def test_what_an_interrupted_answer_had_said_stays(stage: Stage) -> None:
    await stage.thread()
    stage.will_answer(hang("this is being said"))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("this is being said").wait_for()
    await box(stage).press("Escape")
    await stage.page.get_by_text("Interrupted").wait_for()
    await stage.idle()
    assert await stage.page.locator(".main").get_by_text("this is being said").count() == 1


async def test_an_earlier_prompt_is_edited_and_sent_again_in_its_place(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.", "three?|plum-3.")
    edit = stage.page.get_by_label("Edit the prompt of turn 2 and send it again")
    await edit.focus()
    await stage.page.keyboard.press("Enter")
    dialog = stage.page.get_by_role("dialog")
    assert not await dialog.get_by_label("Restore the files too").is_checked()
    await dialog.get_by_role("button", name="Revert").click()
    await until_typed(stage, "two?")
    await stage.page.locator("textarea:focus").wait_for()
    await stage.turns("two, again?|fig-4.")
    prompts = await stage.page.locator(".prompt").all_inner_texts()
    assert prompts == ["one?", "two, again?"]
    said = stage.model_input()
    assert ("apple-1." in said, "pear-2." in said, "plum-3." in said) == (True, False, False)


async def test_a_prompt_that_is_edited_again_leaves_the_draft_and_its_image_in_the_box(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.page.evaluate(PASTE, DOT)
    await stage.page.locator(".composer-image").wait_for()
    await stage.turns("one?|apple-1.")
    await box(stage).fill("half a prompt")
    await stage.page.evaluate(PASTE, DOT)
    await stage.page.locator(".composer-image").wait_for()
    await stage.page.get_by_label("Edit the prompt of turn 1 and send it again").click()
    await stage.page.get_by_role("dialog").get_by_role("button", name="Revert").click()
    await until_typed(stage, "one?\nhalf a prompt")
    await until_counted(stage.page.locator(".composer-image"), 2)


async def test_clear_without_a_number_asks_how_much_is_to_stay(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.send("/clear")
    dialog = stage.page.get_by_role("dialog")
    await dialog.get_by_label("Keep the last turn").check()
    await dialog.get_by_role("button", name="Clear").click()
    await stage.page.get_by_text("2 messages pruned").wait_for()
    await stage.turns("three?|plum-3.")
    assert "apple-1." not in stage.model_input()
    assert "pear-2." in stage.model_input()


async def test_menus_and_panels_of_a_page_without_a_connection_come_when_it_is_there(
    stage: Stage,
) -> None:
    (stage.house.worktree / "app.py").touch()
    await stage.page.add_init_script(f"({CUT})()")
    await stage.thread()
    await stage.page.reload()
    await stage.turns("one?|apple-1.")
    for typed, option in (("/", "/undo"), ("Read @app", "app.py")):
        await stage.cut_off()
        await box(stage).fill(typed)
        await stage.page.keyboard.press("Alt+Digit3")
        await stage.let_through()
        await stage.page.get_by_role("option", name=option).first.wait_for()
        await stage.page.locator(".panel .segment").first.wait_for()
        await stage.page.keyboard.press("Alt+Digit3")
        await box(stage).fill("")
    stage.page.faults.clear()


async def test_a_prompt_for_a_working_agent_without_a_connection_is_sent_once(
    stage: Stage,
) -> None:
    """The page cannot know whether the agent works on."""
    await stage.page.add_init_script(f"({CUT})()")
    await stage.thread()
    await stage.page.reload()
    ended = anyio.Event()
    stage.will_answer(held(say("apple-1."), ended), say("pear-2."))
    await stage.send("one?")
    await stage.page.get_by_text("Working").wait_for()
    await stage.cut_off()
    await stage.send("two?")
    await stage.page.get_by_text("Not sent yet").wait_for()
    await stage.let_through()
    await until_typed(stage, "")
    ended.set()
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()
    await stage.idle()
    assert await stage.page.locator(".prompt").all_inner_texts() == ["one?", "two?"]
    stage.page.faults.clear()


@pytest.mark.parametrize("way", ["key", "button"])
async def test_what_is_stopped_before_its_turn_has_begun_is_not_done(
    stage: Stage, way: str
) -> None:
    def answer(request: ModelRequest) -> Reply:  # the model may never be asked about the first
        is_second = request.mentions("two?")
        return say("pear-2.") if is_second else held(say("apple-1."), anyio.Event())

    await stage.thread()
    stage.house.script.then(answer, answer)
    await box(stage).fill("one?")
    # In one go, so that no answer of the daemon comes in between.
    stop = "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape', bubbles: true}))"
    if way == "button":
        stop = "document.querySelector('button[aria-label=Interrupt]').click()"
    await stage.page.evaluate(
        f"""async () => {{
            const box = document.querySelector("textarea");
            box.dispatchEvent(new KeyboardEvent("keydown", {{key: "Enter", bubbles: true}}));
            await new Promise((drawn) => setTimeout(drawn));
            {stop};
        }}"""
    )
    await stage.page.get_by_text("Interrupted").wait_for()
    await stage.idle()
    await stage.send("two?")
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()


@pytest.mark.parametrize("way", ["key", "button"])
async def test_a_compaction_is_stopped_as_a_turn_is(stage: Stage, way: str) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    stage.house.script.at_compaction(held(say("The summary."), anyio.Event()))
    await stage.send("/compact --force")
    await stage.page.get_by_text("Asking the model for a summary").wait_for()
    if way == "key":
        await stage.page.keyboard.press("Escape")
    else:
        await stage.page.get_by_label("Interrupt").click()
    await stage.page.get_by_text("The compaction was cancelled").wait_for()
    await stage.turns("three?|plum-3.")
    assert "apple-1." in stage.model_input()


async def test_what_was_not_sent_yet_is_not_sent_after_esc(stage: Stage) -> None:
    await stage.page.add_init_script(f"({CUT})()")
    await stage.thread()
    await stage.page.reload()
    await stage.turns("one?|apple-1.")
    await stage.cut_off()
    await stage.send("two?")
    await stage.page.get_by_text("Not sent yet").wait_for()
    await box(stage).press("Escape")
    await stage.page.get_by_text("Not sent yet").wait_for(state="detached")
    await stage.let_through()
    await stage.page.get_by_text("The daemon cannot be reached").wait_for(state="detached")
    assert await box(stage).input_value() == "two?"
    await stage.turns("three?|pear-2.")
    assert await stage.page.locator(".prompt").all_inner_texts() == ["one?", "three?"]
    stage.page.faults.clear()


async def test_what_the_agent_has_not_read_when_its_turn_is_stopped_comes_back(
    stage: Stage,
) -> None:
    await stage.thread()
    stage.will_answer(held(say("pear-2."), anyio.Event()))
    await stage.send("two?")
    await stage.house.model.wait_for_request(lambda asked: "two?" in str(asked.input))
    await stage.page.locator("button[aria-label=Interrupt]").wait_for()
    await stage.send("and this")
    await until_typed(stage, "")
    await box(stage).press_sequentially("typed behind it")
    await box(stage).press("Escape")
    await until_typed(stage, "and this\ntyped behind it")
    await stage.idle()


async def test_what_the_agent_may_not_have_read_is_sent_once_after_a_reload(stage: Stage) -> None:
    await stage.thread()
    ended = anyio.Event()
    answer = held(say("pear-2."), ended)
    stage.will_answer(answer, say("plum-3."))
    await stage.send("two?")
    await stage.house.model.wait_for_request(lambda asked: "two?" in str(asked.input))
    await stage.page.locator("button[aria-label=Interrupt]").wait_for()
    await stage.send("and this")
    await until_typed(stage, "")
    await stage.page.reload()
    await stage.page.locator(".queue").get_by_text("and this").wait_for()
    ended.set()
    await stage.page.locator(".main").get_by_text("plum-3.", exact=True).wait_for()
    await stage.idle()
    assert stage.model_input().count("and this") == 1
    assert len(stage.house.model.turn_requests()) == 2
    await stage.page.locator(".queue").get_by_text("and this").wait_for(state="detached")


PASTE_TEXT = """(text) => {
    const transfer = new DataTransfer();
    transfer.setData("text/plain", text);
    document.querySelector("textarea").dispatchEvent(
        new ClipboardEvent("paste", {clipboardData: transfer, bubbles: true, cancelable: true}));
}"""


async def test_a_long_paste_is_a_word_in_the_box_and_is_sent_whole(stage: Stage) -> None:
    await stage.thread()
    text = "".join(f"line {number}\n" for number in range(10_000))
    await box(stage).press_sequentially("Read ")
    await stage.page.evaluate(PASTE_TEXT, text)
    await until_typed(stage, "Read [pasted 10,000 lines]")
    await stage.page.keyboard.press("Control+z")
    # How much of what was typed before it goes with it is the browser's choice.
    await expected(box(stage)).not_to_have_value("Read [pasted 10,000 lines]")
    await stage.page.keyboard.press("Control+Shift+z")
    await until_typed(stage, "Read [pasted 10,000 lines]")
    await box(stage).press_sequentially(" now")
    await stage.page.reload()
    await until_typed(stage, "Read [pasted 10,000 lines] now")
    stage.will_answer(say("apple-1."))
    await box(stage).press("Enter")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await until_typed(stage, "")
    assert "line 9999\\n now" in stage.model_input()
    await stage.idle()
    await stage.page.evaluate(PASTE_TEXT, "x" * 5_000)
    await stage.page.get_by_role("button", name="Show").click()
    await until_typed(stage, "x" * 5_000)


async def test_a_long_paste_is_kept_where_the_browser_inserts_no_text(stage: Stage) -> None:
    await stage.thread()
    await stage.page.evaluate("document.execCommand = () => false; undefined;")
    await box(stage).press_sequentially("Read now")
    for _ in range(3):
        await box(stage).press("ArrowLeft")
    await stage.page.evaluate(PASTE_TEXT, "y" * 5_000)
    await until_typed(stage, "Read [pasted 5,000 characters]now")
    await box(stage).press("Space")
    stage.will_answer(say("apple-1."))
    await box(stage).press("Enter")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    assert f"Read {'y' * 5_000} now" in stage.model_input()


async def test_every_character_that_is_typed_arrives(stage: Stage) -> None:
    await stage.thread()
    typed = "\u0646\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 👩\u200d💻 e\u0301 \u05e9\u05dc\u05d5\u05dd \u00ad\u00a0日本語"
    session = await stage.page.context.new_cdp_session(stage.page)
    await box(stage).focus()
    # An input method composes a word: its Enter does not send it.
    await session.send(
        "Input.imeSetComposition", {"text": "にほn", "selectionStart": 3, "selectionEnd": 3}
    )
    await box(stage).press("Enter")
    await box(stage).fill("")
    await session.send("Input.insertText", {"text": typed})
    assert await box(stage).input_value() == typed
    stage.will_answer(say("apple-1."))
    await box(stage).press("Enter")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    [prompt] = await stage.page.locator(".prompt").all_inner_texts()
    assert prompt == typed
