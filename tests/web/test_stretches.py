"""Turns in the middle in the page: chosen at a turn, previewed, cleared, summarized or masked, and
undone.
"""

import pytest
from trimpoint.testkit import run, say

from tests.web.axe import findings, needs_axe
from tests.web.browser import needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def choose(stage: Stage, turn: int, turns: str, command: str) -> str:
    """Opens the dialog of a turn, chooses there, and returns what it says it would do."""
    page = stage.page
    await page.get_by_role("button", name=f"Trim turn {turn}").click()
    await page.get_by_role("radio", name=turns).check()
    await page.get_by_role("radio", name=command).check()
    said = page.get_by_role("dialog").locator("[role=status][aria-busy=false]").first
    await said.wait_for()
    return str(await said.inner_text())


async def confirm(stage: Stage) -> None:
    await stage.page.get_by_role("dialog").get_by_role("button", name="Apply").click()
    await stage.page.get_by_role("button", name="Undo").first.wait_for()
    await stage.idle()


@needs_axe
async def test_a_turn_up_to_here_and_from_here_on_are_chosen_at_the_turn_after_a_preview(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns(*(f"prompt-{one}.|answer-{one}." for one in range(1, 5)))
    assert (await choose(stage, 2, "This turn", "Clear")).startswith(
        "Would clear turn 2, 2 entries"
    )
    assert not await findings(stage.page)
    await confirm(stage)
    await stage.turns("prompt-5.|answer-5.")
    assert "prompt-2." not in stage.model_input()
    assert "prompt-1." in stage.model_input()
    said = await choose(stage, 3, "Up to here", "Summarize")
    assert said.startswith("Would summarize turns 1 to 3, ")
    await confirm(stage)
    await stage.page.get_by_label("Context compacted").wait_for()
    await stage.turns("prompt-6.|answer-6.")
    assert "conversation-summary messages=4" in stage.model_input()
    assert "prompt-3." not in stage.model_input()
    assert "prompt-4." in stage.model_input()
    await stage.page.get_by_role("button", name="Trim turn 2").click()
    refused = stage.page.get_by_role("dialog").get_by_text("a summary stands in the place of")
    await refused.wait_for()
    assert await stage.page.get_by_role("dialog").get_by_role("button", name="Apply").is_disabled()


async def test_output_is_masked_from_a_turn_on_as_the_preview_said(stage: Stage) -> None:
    thread_id = await stage.thread()
    for word in ("one", "two"):
        lines = run(f"for i in $(seq 200); do echo line-$i-of-{word}; done")
        stage.will_answer(lines, say(f"answer-{word}."))
        await stage.send(f"prompt-{word}.")
        await stage.page.get_by_text(f"answer-{word}.", exact=True).last.wait_for()
        await stage.idle()
    said = await choose(stage, 2, "From here on", "Mask output")
    assert said.startswith("Would mask the output of ")
    # A turn that comes while the dialog is open was not in the preview, and stays as it is.
    after = len(stage.client.messages)
    stage.will_answer(run("for i in $(seq 200); do echo line-$i-of-three; done"), say("answer."))
    words = [{"type": "text", "text": "prompt-three."}]
    await stage.client.request("turn/start", threadId=thread_id, input=words)
    await stage.client.expect(lambda m: m.get("method") == "turn/completed", after)
    await stage.idle()
    await confirm(stage)
    await stage.turns("fourth.|answer-four.")
    assert "line-199-of-one" in stage.model_input()
    assert "line-199-of-two" not in stage.model_input()
    assert "line-199-of-three" in stage.model_input()
