"""Masks in the page: chosen in what the context holds, shown in the conversation, undone."""

import pytest
from trimpoint.testkit import run, say

from tests.web.browser import needs_browser, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

LINES = "for i in $(seq 200); do echo line-$i-of-{}; done"


async def test_the_output_of_a_call_is_masked_where_the_context_is_looked_at_and_undo_brings_it_back(
    stage: Stage,
) -> None:
    await stage.thread()
    for word in ("one", "two"):
        stage.will_answer(run(LINES.format(word)), say(f"answer-{word}."))
        await stage.send(f"prompt-{word}.")
        await stage.page.locator(".main").get_by_text(f"answer-{word}.", exact=True).last.wait_for()
        await stage.idle()
    await stage.page.get_by_role("button", name="Context", exact=True).click()
    row = stage.page.locator(".segments li").filter(has_text="line-$i-of-one")
    await row.first.locator("input").check()
    # The result goes with its call.
    await until_counted(stage.page.locator(".segments input:checked"), 2)
    await stage.page.get_by_role("button", name="Mask output").click()
    await stage.page.get_by_text("1 entry masked").wait_for()
    await until_counted(stage.page.get_by_text("output not in context"), 1)
    await stage.turns("third.|answer-three.")
    assert "line-199-of-one" not in stage.model_input()
    assert "tokens left the context]" in stage.model_input()
    assert "line-199-of-two" in stage.model_input()
    await stage.send("/undo")
    await until_counted(stage.page.get_by_text("output not in context"), 0)
    await stage.turns("fourth.|answer-four.")
    assert "line-199-of-one" in stage.model_input()
