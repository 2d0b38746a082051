"""Reading a long thread in the chat: its beginning by one key, and what is new below."""

import anyio
import pytest
from trimpoint.testkit import held, say
from trimpoint.tui.session import following, pages
from trimpoint.tui.widgets.transcript_view import TranscriptView

from tests.chat.piloted import piloted
from tests.cli.stage import CliHarness

SHORT = "\n\n".join(f"word-{number}" for number in range(10))
LONG = "\n\n".join(f"line-{number}" for number in range(60))


def row_with(screen: str, words: str) -> bool:
    """Returns whether a prompt on the screen has these words of its turn at its end."""
    return any(f"  {words}" in row for row in screen.splitlines() if "prompt-" in row)


@pytest.mark.codex
async def test_who_has_scrolled_up_is_told_what_is_new_and_goes_there_by_a_key(
    stage: CliHarness,
) -> None:
    release = anyio.Event()
    stage.script.then(say(LONG), held(say("the newest."), release))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("line-59")
        await chat.shows(lambda _: chat.state.busy is None and not chat.state.outgoing)
        await chat.types("prompt-2.")
        await chat.shows("prompt-2.")
        await stage.model.wait_for_request(lambda request: request.mentions("prompt-2."))
        await chat.presses("ctrl+home")
        await chat.shows("prompt-1.")
        await chat.shows("line-0")
        assert "new below" not in chat.screen
        release.set()
        await chat.shows("↓ new below")
        await chat.clicks("goes there")
        await chat.shows("the newest.")
        await chat.shows(lambda screen: "new below" not in screen)


@pytest.mark.codex
async def test_every_turn_of_a_long_thread_is_shown_with_its_number_and_by_the_scroll_bar(
    stage: CliHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, count in (("FIRST_PAGE", 4), ("PAGE", 6), ("TAIL", 4)):
        monkeypatch.setattr(pages, name, count)
    monkeypatch.setattr(following, "MARKED_TURNS", 2)
    turns = 12
    stage.script.then(*(say(f"answer-{number}.\n\n" + SHORT) for number in range(1, turns + 1)))
    async with stage.daemon():
        for number in range(1, turns + 1):
            assert (await stage.run("ask", f"prompt-{number}.")).code == 0
        thread_id = (await stage.run("threads", "--json")).json()["threads"][0]["id"]
        async with piloted(stage.socket, stage.worktree, thread_id) as chat:
            await chat.shows(f"answer-{turns}.")
            await chat.presses("ctrl+home")
            await chat.shows(lambda screen: "prompt-1." in screen and row_with(screen, "1 ·"))
            for number in range(2, turns + 1):  # nothing is left out on the way to the end
                while f"prompt-{number}." not in chat.screen:
                    await chat.presses("pagedown")
                await chat.shows(lambda screen, number=number: row_with(screen, f"{number} ·"))
            await chat.presses("ctrl+end")
            await chat.types("/turn 5")
            await chat.shows("prompt-5.")
            await chat.presses("escape")
            await chat.types("/turn 13")
            await chat.shows("There is no turn 13; the newest is 12.")
            await chat.types("/clear 3")
            await chat.shows("Context cleared")
            await chat.types("/turn 2")
            await chat.shows("prompt-2.")
            await chat.presses("escape")
            await chat.presses("ctrl+end")
            await chat.shows(f"prompt-{turns}.")
            view = chat.app.query_one(TranscriptView)
            bar = view.size.width - 1
            await chat.pilot.mouse_down(view, offset=(bar, view.size.height - 1))
            await chat.pilot.hover(view, offset=(bar, 0))
            await chat.pilot.mouse_up(view, offset=(bar, 0))
            await chat.shows("prompt-1.")
            assert chat.screen.splitlines()[0].endswith("▐")
            await chat.pilot.click(view, offset=(bar, view.size.height - 1))
            await chat.shows(f"prompt-{turns}.")
