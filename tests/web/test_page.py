"""The page as a person uses it: streaming, requests, images, two windows, and a network that
fails.
"""

import gzip
from typing import Any

import anyio
import pytest
from trimpoint.http.static_files import default_folder
from trimpoint.testkit import hang, held, run, say

from tests.e2e.codex.sub_agents import replies_of_both
from tests.web.browser import CUT, needs_browser, shown, until_counted
from tests.web.stage import DOT, PASTE, Stage, answer, logged_in

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

PATCH = (
    "apply_patch <<'EOF'\n*** Begin Patch\n*** Add File: inner/patched.txt\n+hello\n"
    "*** End Patch\nEOF\n"
)
MOST_BYTES, MOST_REQUESTS = 100_000, 5
FROM_THE_END = "list => list.scrollHeight - list.scrollTop - list.clientHeight"


async def test_an_answer_streams_and_escape_interrupts_the_turn(stage: Stage) -> None:
    await stage.thread()
    stage.will_answer(hang("this is being said"))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("this is being said").wait_for()
    await stage.page.locator("textarea").press("Escape")
    await stage.page.get_by_text("Interrupted").wait_for()
    await stage.idle()


async def test_a_running_answer_is_there_after_a_reload_and_in_a_second_window(
    stage: Stage,
) -> None:
    thread_id = await stage.thread()
    ended = anyio.Event()
    stage.will_answer(hang("this is being said", until=ended))
    await stage.send("one?")
    said = stage.page.locator(".main").get_by_text("this is being said", exact=True)
    await said.wait_for()
    await stage.page.reload()
    await said.wait_for()
    other = await logged_in(stage.browser, stage.daemon)
    await other.goto(f"{stage.origin}/#/thread/{thread_id}")
    await other.get_by_text("this is being said", exact=True).wait_for()
    ended.set()
    await stage.idle()
    for page in (stage.page, other):
        assert await page.locator(".answer").all_inner_texts() == ["this is being said"]
    assert other.faults == []


async def test_a_prompt_during_a_turn_waits_and_is_sent_after_it(stage: Stage) -> None:
    await stage.thread()
    ended = anyio.Event()
    stage.will_answer(hang("apple-1.", until=ended), say("pear-2."), say("plum-3."))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("apple-1.").wait_for()
    await stage.queue("two?")
    await stage.queue("three?")
    waiting = stage.page.get_by_label("Waiting prompts").get_by_role("listitem")
    await until_counted(waiting, 2)
    await waiting.last.get_by_label("Do not send").click()
    ended.set()
    await stage.page.locator(".main").get_by_text("pear-2.", exact=True).wait_for()
    await stage.idle()
    prompts = await stage.page.locator(".prompt").all_inner_texts()
    assert prompts == ["one?", "two?"]


async def test_a_prompt_is_sent_while_a_sub_agent_works(stage: Stage) -> None:
    await stage.thread()
    release = anyio.Event()
    stage.house.script.then(*replies_of_both(held(say("done"), release)), say("answer-2."))
    await stage.send("prompt-1.")
    await stage.page.locator(".main").get_by_text("answer-1.", exact=True).wait_for()
    await stage.idle()
    await stage.house.model.wait_for_request(lambda request: not request.mentions("prompt-1."))
    await stage.page.locator("textarea").fill("/clear 0")
    await stage.page.get_by_text("Blocked: a sub-agent is at work").wait_for()
    await stage.send("prompt-2.")
    await stage.page.locator(".main").get_by_text("answer-2.", exact=True).wait_for()
    release.set()


async def test_the_end_stays_in_sight_while_an_answer_grows_by_more_than_a_screen(
    stage: Stage,
) -> None:
    await stage.thread()
    for number in range(3):
        stage.will_answer(say("\n\n".join([f"line {number}"] * 60) + f"\n\nend-{number}."))
        await stage.send("Write much.")
        await stage.page.locator(".main").get_by_text(f"end-{number}.", exact=True).wait_for()
        await stage.idle()
    await stage.page.locator(".turn-foot").last.wait_for()
    await stage.page.get_by_label("Go to the newest").wait_for(state="detached")
    assert await stage.page.locator(".list").evaluate(FROM_THE_END) < 2
    await stage.page.locator(".list").hover()
    await stage.page.mouse.wheel(0, -800)
    await stage.page.get_by_label("Go to the newest").wait_for()


# Five frames: each has what the one before has drawn measured.
FRAMES = """
() => new Promise((resolve) => {
    const next = (left) => left ? requestAnimationFrame(() => next(left - 1)) : resolve(true);
    next(5);
})
"""
SHRINKS_AND_GROWS = """
() => new Promise((resolve) => requestAnimationFrame(() => {
    const row = [...document.querySelectorAll(".list .list-row")].at(-1);
    row.style.display = "none"; // in this frame the end moves up
    setTimeout(() => {
        row.style.display = "";
        row.append(Object.assign(document.createElement("div"), { style: "height: 900px" }));
        resolve();
    });
}))
"""


async def test_the_end_stays_in_sight_when_a_row_shrinks_and_grows_at_once(stage: Stage) -> None:
    """As when an answer that was streamed is replaced by the recorded one, with its footer."""
    await stage.thread()
    stage.will_answer(say("\n\n".join(["line"] * 60) + "\n\nend."), say("short."))
    for answered in ("end.", "short."):
        await stage.send("Write much.")
        await stage.page.locator(".main").get_by_text(answered, exact=True).wait_for()
        await stage.idle()
    await stage.page.locator(".turn-foot").last.wait_for()
    height = "(list) => list.scrollHeight"
    before = await stage.page.locator(".list").evaluate(height)
    await stage.page.evaluate(SHRINKS_AND_GROWS)
    await stage.page.wait_for_function(FRAMES)
    assert await stage.page.locator(".list").evaluate(height) > before + 800
    assert await stage.page.locator(".list").evaluate(FROM_THE_END) < 2
    assert await stage.page.get_by_label("Go to the newest").count() == 0


async def test_an_approval_is_a_card_that_is_answered_by_a_key(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    file = stage.house.worktree / "asked-for.txt"
    for key, outcome in (("n", "Interrupted"), ("y", "apple-1.")):
        stage.will_answer(run("touch asked-for.txt"), *([say(outcome)] if key == "y" else []))
        await stage.send("Do it.")
        card = stage.page.get_by_label("The agent asks for approval")
        await card.locator(".card-text").get_by_text("touch asked-for.txt").wait_for()
        await answer(stage.page, key)
        await stage.page.locator(".main").get_by_text(outcome, exact=True).wait_for()
        await stage.idle()
        assert file.exists() == (key == "y")
    await stage.page.reload()
    of_turns = stage.page.locator(".activity-facts", has_text="allowed")
    await of_turns.wait_for()
    assert await of_turns.count() == 1


async def test_two_windows_show_the_same_and_a_question_is_answered_once(stage: Stage) -> None:
    thread_id = await stage.thread(approvalPolicy="untrusted")
    other = await logged_in(stage.browser, stage.daemon)
    await other.goto(f"{stage.origin}/#/thread/{thread_id}")
    stage.will_answer(run("touch asked-for.txt"), say("apple-1."))
    await stage.send("Do it.")
    cards = [page.get_by_label("The agent asks for approval") for page in (stage.page, other)]
    for card in cards:
        await card.wait_for()
    await answer(other, "y")
    for card in cards:
        await card.wait_for(state="detached")
    for page in (stage.page, other):
        await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await stage.idle()
    await stage.send("/clear 0")
    for page in (stage.page, other):
        await page.get_by_text("2 messages pruned").wait_for()
        await page.locator(".main").get_by_text("starting", exact=True).wait_for(state="detached")
    assert await shown(stage.page) == await shown(other)
    assert other.faults == []


async def test_a_page_that_was_cut_off_has_every_event_once(stage: Stage) -> None:
    await stage.page.add_init_script(f"({CUT})()")
    thread_id = await stage.thread()
    await stage.page.reload()
    await stage.page.locator("textarea").wait_for()
    await stage.turns("one?|apple-1.")
    await stage.cut_off()
    said = [{"type": "text", "text": "two?"}]
    for number in range(3):
        after = len(stage.client.messages)
        stage.will_answer(say(f"missed-{number}."))
        turn = await stage.client.request("turn/start", threadId=thread_id, input=said)
        await stage.client.expect(
            lambda m, turn=turn: (
                m.get("method") == "turn/completed"
                and m["params"]["turn"]["id"] == turn["turn"]["id"]
            ),
            after,
        )
    await stage.let_through()
    await stage.page.locator(".main").get_by_text("missed-2.", exact=True).wait_for()
    answers = await stage.page.locator(".answer").all_inner_texts()
    assert answers == ["apple-1.", "missed-0.", "missed-1.", "missed-2."]
    # The refused connections while it was cut off are what the browser complains of.
    stage.page.faults.clear()


async def test_an_image_is_pasted_sent_and_shown_again_after_a_reload(stage: Stage) -> None:
    await stage.thread()
    await stage.page.evaluate(PASTE, DOT)
    await stage.page.locator(".composer-image img").wait_for()
    stage.will_answer(say("apple-1."))
    await stage.send("What is this?")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    assert DOT in stage.model_input()
    assert await stage.page.locator(".composer-image").count() == 0
    for _ in range(2):
        image = stage.page.locator(".prompt img")
        await image.wait_for()
        assert await image.evaluate("image => image.naturalWidth") == 1
        await stage.page.reload()


async def test_a_thread_is_begun_renamed_forked_and_archived_in_the_page(stage: Stage) -> None:
    page = stage.page
    await page.get_by_role("button", name="New thread").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Folder", exact=True).fill(str(stage.house.worktree))
    await dialog.get_by_label("Sandbox").select_option("danger-full-access")
    await dialog.get_by_role("button", name="Start").click()
    await page.get_by_text("Nothing said yet").wait_for()
    await stage.turns("one?|apple-1.")
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Rename").click()
    await dialog.get_by_label("Name").fill("Another name")
    await page.keyboard.press("Enter")
    await page.locator(".header h1").get_by_text("Another name").wait_for()
    await page.locator(".thread-second").get_by_text("apple-1.").wait_for()
    before = page.url
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Fork").click()

    def is_another(url: str) -> bool:
        return url != before

    await page.wait_for_url(is_another)
    await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await page.get_by_role("button", name="More").click()
    await page.get_by_role("menuitem", name="Archive").click()
    await page.locator(".chip").get_by_text("archived").wait_for()


async def test_a_thread_is_deleted_from_codex_and_stays_readable(stage: Stage) -> None:
    page = stage.page
    await stage.thread()
    await stage.turns("one?|apple-1.")
    for answer_, left in (("Cancel", 1), ("Delete", 0)):
        await page.get_by_role("button", name="More").click()
        await page.get_by_role("menuitem", name="Delete").click()
        await page.get_by_role("dialog").get_by_role("button", name=answer_).click()
        if left == 0:
            await page.locator(".chip").get_by_text("archived").wait_for()
        assert len((await stage.client.request("thread/list"))["data"]) == left
    await page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()


async def test_the_end_of_what_a_command_wrote_is_read_without_opening_it(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run("for n in 1 2 3 4; do echo line-$n; done; false"), say("apple-1."))
    await stage.send("one?")
    await answer(stage.page, "y")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    ran = stage.page.locator(".activity")
    assert await ran.locator(".output-end span").all_inner_texts() == ["line-2", "line-3", "line-4"]
    await ran.get_by_text("exit 1").wait_for()
    await ran.locator(".activity-line").click()
    await ran.locator(".output").get_by_text("line-1").wait_for()
    assert await ran.locator(".output-end").count() == 0
    stage.will_answer(run("touch not-run.txt"))
    await stage.send("two?")
    await answer(stage.page, "n")
    await stage.page.locator(".activity", has_text="Not run").wait_for()


async def test_an_edited_file_is_named_from_the_folder_of_the_thread(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run(PATCH), say("apple-1."))
    await stage.send("Do it.")
    file = stage.house.worktree / "inner" / "patched.txt"
    for place in (
        stage.page.get_by_label("The agent asks for approval").locator(".diff-path"),
        stage.page.locator(".activity-title"),
    ):
        await place.get_by_text("inner/patched.txt", exact=True).wait_for()
        assert await place.get_attribute("title") == str(file)
        if not file.exists():
            assert "+hello" in await stage.page.locator(".diff").inner_text()
            await answer(stage.page, "y")
            await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()


async def test_discarded_items_leave_the_context_and_stay_readable(stage: Stage) -> None:
    await stage.thread()
    stage.will_answer(run("echo much-output"), say("apple-1."))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    await stage.idle()
    await stage.turns("two?|pear-2.", "three?|plum-3.")
    await stage.page.get_by_role("button", name="Context", exact=True).click()
    part = stage.page.locator(".segment").filter(has_text="echo much-output").first
    await part.get_by_role("checkbox").check()
    await stage.page.get_by_role("button", name="Discard").click()
    await stage.page.locator(".activity.is-discarded").wait_for()
    await stage.turns("four?|fig-4.")
    assert "much-output" not in stage.model_input()


async def test_the_page_asks_no_other_host_and_stays_small(stage: Stage) -> None:
    urls: list[str] = []

    def on_request(request: Any) -> None:
        urls.append(request.url)

    stage.page.on("request", on_request)
    await stage.page.reload()
    await stage.page.get_by_text("No thread is open").wait_for()
    assert [url for url in urls if not url.startswith(stage.origin)] == []
    assert len(urls) <= MOST_REQUESTS
    files = [path for path in default_folder().iterdir() if path.suffix in (".js", ".css", ".html")]
    packed = sum(len(gzip.compress(path.read_bytes(), mtime=0)) for path in files)
    assert packed <= MOST_BYTES
    # What marked says of its own parser's faults: the page has its lexer alone.
    assert b"Please report this to" not in default_folder().joinpath("main.js").read_bytes()
