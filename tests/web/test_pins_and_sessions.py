"""Pins, undo, and sessions of other agents, in the page."""

from uuid import uuid4

import pytest

from tests.web.browser import needs_browser, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_a_pinned_turn_stays_through_a_clear_and_leaves_when_it_is_unpinned(
    stage: Stage,
) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.page.get_by_role("button", name="Pin turn 1").click()
    await stage.page.get_by_role("status").get_by_text("Pinned").wait_for()
    await stage.page.get_by_role("button", name="Context", exact=True).click()
    pins = stage.page.get_by_label("Pinned", exact=True)
    await pins.get_by_label("A note to pin").fill("Say grapes.")
    await stage.page.keyboard.press("Enter")
    await until_counted(pins.get_by_role("listitem"), 2)
    await stage.page.get_by_role("button", name="Unpin 2", disabled=False).wait_for()
    await stage.page.locator("textarea").click()
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.turns("three?|plum-3.")
    assert "apple-1." in stage.model_input()
    assert "Say grapes." in stage.model_input()
    assert "pear-2." not in stage.model_input()
    await pins.get_by_role("button", name="Unpin 2").click()
    await until_counted(pins.get_by_role("listitem"), 1)


async def test_the_last_trim_is_undone_from_the_menu(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.")
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.page.get_by_role("button", name="More").click()
    await stage.page.get_by_role("menuitem", name="Undo the last trim").click()
    await stage.page.locator(".divider").wait_for(state="detached")
    await stage.turns("two?|pear-2.")
    assert "apple-1." in stage.model_input()


async def test_a_session_of_another_agent_is_read_and_continued(stage: Stage) -> None:
    await stage.thread()
    await stage.turns("one?|apple-1.")
    [log] = stage.house.codex_home.glob("sessions/**/rollout-*.jsonl")
    own_id, other_id = log.stem[-36:], str(uuid4())
    other = log.with_name(log.name.replace(own_id, other_id))
    other.write_text(log.read_text().replace(own_id, other_id))
    await stage.page.get_by_text("Sessions of other agents").click()
    await stage.page.locator(".session").first.click()
    dialog = stage.page.get_by_role("dialog")
    await dialog.get_by_text("apple-1.").wait_for()
    before = stage.page.url
    await dialog.get_by_role("button", name="Continue as a thread").click()
    await stage.page.wait_for_url(lambda url: url != before)
    await stage.turns("two?|pear-2.")
    assert "apple-1." in stage.model_input()
