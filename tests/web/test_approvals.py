"""An approval is a deliberate act, and all of what is approved can be read."""

from typing import Any

import anyio
import pytest
from trimpoint.testkit import run, say

from tests.deadlines import STEP_S
from tests.web.browser import CUT, needs_browser, until_counted
from tests.web.stage import Stage, answer

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

SENTENCE = "so, before you do anything, tell me why"
PATCH = "apply_patch <<'EOF'\n*** Begin Patch\n{}*** End Patch\nEOF\n"
FILE = "*** Add File: {name}\n{lines}"


def card_of(stage: Stage) -> Any:
    return stage.page.get_by_label("The agent asks for approval")


async def test_a_sentence_that_is_typed_while_the_agent_asks_answers_nothing(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run("touch asked-for.txt"))
    await stage.send("Do it.")
    await stage.page.keyboard.type(SENTENCE[:10])
    await card_of(stage).locator(".card-choices button:enabled").first.wait_for()
    await stage.page.keyboard.type(SENTENCE[10:])
    assert await stage.page.locator("textarea").input_value() == SENTENCE
    assert await card_of(stage).count() == 1
    assert await card_of(stage).get_by_text("Your keys go to the prompt.").is_visible()
    assert not (stage.house.worktree / "asked-for.txt").exists()


# Goes to the question in the moment in which it appears, and presses the keys that answer.
PRESSED_AT_ONCE = """() => {
    window.pressed = 0;
    window.press = (key, more) => document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", {key, bubbles: true, cancelable: true, ...more}));
    new MutationObserver((_, observer) => {
        if (document.querySelector(".card")) {
            observer.disconnect();
            window.press("ArrowUp", {altKey: true});
            ["y", "n"].forEach((key) => window.press(key));
            window.pressed += 1;
        }
    }).observe(document.body, {childList: true, subtree: true});
}"""


async def test_a_key_that_is_held_answers_nothing_and_nor_does_one_at_once(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run("touch asked-for.txt"))
    await stage.page.evaluate(PRESSED_AT_ONCE)
    await stage.send("Do it.")
    await card_of(stage).locator(".card-choices button:enabled").first.wait_for()
    await stage.page.evaluate("for (let i = 0; i < 20; i++) window.press('y', {repeat: true})")
    assert await card_of(stage).count() == 1
    assert await stage.page.evaluate("window.pressed") == 1
    assert not (stage.house.worktree / "asked-for.txt").exists()
    await stage.page.keyboard.press("n")
    await stage.page.get_by_text("Interrupted").wait_for()


async def test_a_lasting_permission_needs_a_second_step_that_shows_the_rule(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run("touch asked-for.txt"), say("apple-1."))
    await stage.send("Do it.")
    card = card_of(stage)
    await card.get_by_role("button", name="Always allow").click()
    rule = 'prefix_rule(pattern=["touch", "asked-for.txt"], decision="allow")'
    await card.get_by_text(rule, exact=True).wait_for()
    await (
        card.get_by_role("button", name="Write the rule")
        .and_(stage.page.locator(":enabled"))
        .wait_for()
    )
    await stage.page.keyboard.type("yay")
    assert await card.count() == 1
    rules = stage.house.codex_home / "rules" / "default.rules"
    assert not rules.exists() or rule not in rules.read_text()
    await card.get_by_role("button", name="Write the rule").click()
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    assert rule in rules.read_text()


async def test_a_long_command_can_be_read_to_its_end(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    lines = "\n".join(f"echo line-{number}" for number in range(119))
    hidden = "echo start" + " " * 400 + "&& echo behind-blanks" + "\n" * 50 + "echo safe \u202e; yo"
    stage.will_answer(run(lines + "\nrm -rf build"), run(hidden))
    await stage.send("Do it.")
    card = card_of(stage)
    await card.get_by_text("120 lines").wait_for()
    subject = card.locator(".card-subject")
    await card.get_by_text("more below").click()
    await stage.page.keyboard.press("Alt+ArrowUp")
    await stage.page.keyboard.press("End")
    left = "one => one.scrollHeight - one.scrollTop - one.clientHeight"
    assert await subject.evaluate(left) < 2
    assert "rm -rf build" in await subject.inner_text()
    await card.get_by_text("more below").wait_for(state="detached")
    assert await card.get_by_role("button", name="Decline").first.is_visible()


async def test_blanks_empty_lines_and_directions_hide_nothing(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    hidden = "echo start" + " " * 400 + "&& echo behind-blanks" + "\n" * 50 + "echo safe \u202e; yo"
    stage.will_answer(run(hidden))
    await stage.send("Do it.")
    subject = card_of(stage).locator(".card-subject")
    await subject.get_by_text("behind-blanks").wait_for()
    text = await subject.inner_text()
    assert "⟨400 blanks⟩ && echo behind-blanks" in text
    assert "⟨49 empty lines⟩\necho safe ⟨U+202E⟩; yo" in text
    assert await subject.evaluate("one => one.scrollHeight - one.clientHeight") == 0


async def _is_within(line: Any, subject: Any) -> bool:
    box, room = await line.bounding_box(), await subject.bounding_box()
    return bool(box["y"] + box["height"] <= room["y"] + room["height"] + 1)


async def test_a_patch_of_several_files_is_shown_whole_and_counted(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    parts = [
        FILE.format(name=f"{name}.py", lines="".join(f"+{name}-{at}\n" for at in range(30)))
        for name in "abc"
    ]
    stage.will_answer(run(PATCH.format("".join(parts))), say("apple-1."))
    await stage.send("Do it.")
    card = card_of(stage)
    await card.get_by_text("3 files, +90 \u22120").wait_for()
    await until_counted(card.locator(".diff-line"), 90)
    last = card.locator(".diff-line").last
    with anyio.fail_after(STEP_S):
        # The card may be drawn anew while it is scrolled.
        while not await _is_within(last, card.locator(".card-subject")):
            await last.scroll_into_view_if_needed()
    await answer(stage.page, "y")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()


async def test_a_declined_edit_is_declined(stage: Stage) -> None:
    await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run(PATCH.format("*** Add File: a.md\n+- one\n+- two\n")))
    await stage.send("Do it.")
    await card_of(stage).get_by_text("1 file, +2 \u22120").wait_for()
    await answer(stage.page, "n")
    edit = stage.page.locator(".activity")
    await edit.get_by_text("Not edited").wait_for()
    await edit.get_by_text("declined").wait_for()
    assert not (stage.house.worktree / "a.md").exists()


async def test_a_command_that_was_never_approved_does_not_run_after_an_interrupt(
    stage: Stage,
) -> None:
    thread_id = await stage.thread(approvalPolicy="untrusted")
    stage.will_answer(run("touch asked-for.txt"))
    await stage.send("Do it.")
    await card_of(stage).wait_for()
    await stage.client.request("turn/interrupt", threadId=thread_id, turnId="")
    await stage.page.locator(".main").get_by_text("Interrupted", exact=True).wait_for()
    await stage.page.locator(".main").get_by_text("Running", exact=True).wait_for(state="detached")


async def test_an_answer_without_a_connection_leaves_the_question_and_says_so(stage: Stage) -> None:
    await stage.page.add_init_script(f"({CUT})()")
    await stage.thread(approvalPolicy="untrusted")
    await stage.page.reload()
    stage.will_answer(run("touch asked-for.txt"), say("apple-1."))
    await stage.send("Do it.")
    await card_of(stage).locator(".card-choices button:enabled").first.wait_for()
    await stage.cut_off()
    await card_of(stage).locator(".card-choices button").first.click()
    await stage.page.get_by_text("The connection to the daemon was lost.").wait_for()
    assert await card_of(stage).count() == 1
    await stage.let_through()
    await stage.page.get_by_text("The connection to the daemon was lost.").wait_for(
        state="detached"
    )
    await answer(stage.page, "y")
    await stage.page.locator(".main").get_by_text("apple-1.", exact=True).wait_for()
    # The refused connections while it was cut off are what the browser complains of.
    stage.page.faults.clear()
