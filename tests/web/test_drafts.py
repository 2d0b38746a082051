"""A draft in the page: it stands in the box, to be changed and sent, or deleted."""

import anyio
import pytest

from tests.deadlines import STEP_S
from tests.web.browser import needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_a_drafted_summary_is_changed_in_the_box_and_accepted(stage: Stage) -> None:
    await stage.thread()
    await stage.turns(*(f"prompt-{one}.|answer-{one}." for one in range(1, 4)))
    await stage.send("/compact --edit --keep 1")
    box = stage.page.locator("textarea")
    with anyio.fail_after(STEP_S):
        while not (await box.input_value()).startswith("/accept draft:"):
            pass
    await stage.page.get_by_text("nothing has changed yet").first.wait_for()
    await box.press("End")
    drafted = await box.input_value()
    await box.fill(f"{drafted} In my words.")
    await box.press("Enter")
    await stage.page.get_by_label("Context compacted").wait_for()
    await stage.turns("prompt-4.|answer-4.")
    seen = stage.model_input()
    assert drafted.partition(" ")[2].partition(" ")[2] + " In my words." in seen
    assert ("prompt-3." in seen, "prompt-2." in seen) == (True, False)


async def test_what_is_typed_while_a_summary_is_drafted_stays_and_the_draft_comes_behind_it(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns(*(f"prompt-{one}.|answer-{one}." for one in range(1, 4)))
    await stage.send("/compact --edit --keep 1")
    box = stage.page.locator("textarea")
    await box.fill("half")
    await stage.page.get_by_text("nothing has changed yet").first.wait_for()
    assert await box.input_value() == "half"
    await box.fill("")
    with anyio.fail_after(STEP_S):
        while not (await box.input_value()).startswith("/accept draft:"):
            pass
