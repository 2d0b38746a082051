"""What a person types into Codex's own terminal UI, and what comes of it."""

from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
from trimpoint.testkit import ModelRequest, held, say

from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.expectation import Piece, pieces
from tests.tui.stage import BINARIES, SCREEN_READ_S, attached, has_feature

pytestmark = [
    pytest.mark.codex,
    pytest.mark.parametrize("codex", BINARIES, ids=lambda path: "/".join(path.parts[-3:])),
]


@pytest.fixture
async def harness() -> AsyncIterator[Harness]:
    async with opened_harness() as opened:
        yield opened


def asked(harness: Harness, prompt: str) -> ModelRequest:
    """Returns the request that put a prompt to the agent; the UI asks for titles in threads of its
    own.
    """
    return next(
        request
        for request in harness.model.requests
        if pieces(request.input)[-1] == Piece("user", prompt)
    )


async def test_a_command_with_a_colon_is_carried_out_and_a_prompt_shown_once(
    harness: Harness, codex: Path
) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Say one thing.")
            await terminal.shows("• reply")
            await terminal.types(":clear")
            await terminal.shows("Context cleared")
            await terminal.types("/compact keep the numbers")
            await terminal.shows("Nothing to compact")
            await terminal.types("Say another thing.")
            shown = await terminal.shows(lambda text: text.count("• reply") == 2)
    assert shown.count("› /compact keep the numbers") == 1
    assert not asked(harness, "Say another thing.").mentions(":clear")


async def test_the_menu_of_skills_has_the_commands(harness: Harness, codex: Path) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Say one thing.")
            await terminal.shows("• reply")
            await terminal.types("$clea", enter=False)
            await terminal.shows("Clear the agent's context")
            await terminal.types("")  # chooses the entry
            await terminal.types("")
            await terminal.shows("Context cleared")
            await terminal.types("Say another thing.")
            await terminal.shows(lambda text: text.count("• reply") == 2)
    request = asked(harness, "Say another thing.")
    assert not request.mentions("reply 1")
    assert not request.mentions("$clear")


async def test_a_command_typed_while_the_agent_works_waits_and_never_reaches_it(
    harness: Harness, codex: Path
) -> None:
    go_on = anyio.Event()
    harness.script.then(held(say("done at last"), go_on))
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Work for a while.")
            await harness.model.wait_for_request(lambda request: request.kind == "turn")
            await terminal.types(" /clear")
            go_on.set()
            await terminal.shows("done at last")
            await terminal.shows("Context cleared")
            await terminal.types("Say another thing.")
            await terminal.shows(lambda text: text.count("• reply") == 1)
    assert not asked(harness, "Say another thing.").mentions("/clear")


async def test_a_side_conversation_starts(harness: Harness, codex: Path) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Say one thing.")
            await terminal.shows("• reply")
            await terminal.types("/side what is that")
            await terminal.shows(
                lambda text: ("› what is that" in text and "Side" in text) or "what is t…" in text
            )


async def test_codexs_own_clear_with_a_number_says_what_it_did(
    harness: Harness, codex: Path
) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Say one thing.")
            await terminal.shows("• reply")
            await terminal.types("/clear 3")
            await terminal.shows("nothing was trimmed")


async def test_a_trim_by_another_client_shows(harness: Harness, codex: Path) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with (
            harness.daemon(),
            attached(harness, codex) as terminal,
            harness.client() as other,
        ):
            await terminal.types("Say one thing.")
            await terminal.shows("Worked for")  # an answer is shown before its turn has ended
            [thread] = (await other.request("thread/list"))["data"]
            done = await other.request("commands/execute", threadId=thread["id"], text="/clear")
            assert done["status"] == "completed", done
            await terminal.shows("Context cleared")


async def test_a_command_without_a_turn_lets_one_be_chosen(harness: Harness, codex: Path) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            for number in (1, 2, 3):
                await terminal.types(f"Say thing {number}.")
                await terminal.shows(lambda text, n=number: text.count("• reply") == n)
            await terminal.types(":clear")
            await terminal.shows("3. The last 2 turns  from: Say thing 2.")
            await terminal.types("2", enter=False)
            await terminal.shows("4 messages in 2 turns left it, the last turn kept")
            await terminal.types(":revert")
            await terminal.shows("Go back to which turn?")
            await terminal.types("\x1b", enter=False)
            await terminal.shows("Nothing was chosen, so :revert did nothing.")
            await terminal.types("Say another thing.")
            await terminal.shows(lambda text: "• reply" in text.partition("Say another thing.")[2])
    request = asked(harness, "Say another thing.")
    assert not request.mentions("Say thing 2.")
    assert request.mentions("Say thing 3.")


async def test_turns_that_were_taken_back_leave_the_screen(harness: Harness, codex: Path) -> None:
    with anyio.fail_after(SCREEN_READ_S):
        async with (
            harness.daemon(),
            attached(harness, codex) as terminal,
            harness.client() as other,
        ):
            for number in (1, 2, 3):
                await terminal.types(f"Say thing {number}.")
                await terminal.shows(lambda text, n=number: text.count("Worked for") == n)
            await terminal.types(":revert 2 --context")
            await terminal.shows(lambda text: went_back(text, "Say thing 3."))
            await terminal.shows("To undo: :revert --undo")
            [thread] = (await other.request("thread/list"))["data"]
            text = "/revert 1 --context"
            done = await other.request("commands/execute", threadId=thread["id"], text=text)
            assert done["status"] == "completed", done
            await terminal.shows(lambda text: went_back(text, "Say thing 2."))
            await terminal.types(":revert 0 --context")
            await terminal.shows(lambda text: went_back(text, "Say thing 1."))
            await terminal.types("Say another thing.")
            await terminal.shows("• reply")
    assert not asked(harness, "Say another thing.").mentions("Say thing")


def went_back(text: str, gone: str) -> bool:
    return "Back to" in text and f"› {gone}" not in text


async def test_the_footer_has_the_meter(harness: Harness, codex: Path) -> None:
    if not await has_feature(codex, harness, "tui_extensions_statusline"):
        pytest.skip("this version has no status line of others")
    harness.overrides += [
        "features.tui_extensions_statusline=true",
        'tui.status_line_provider={server="trimpoint",tool="context_meter"}',
    ]
    with anyio.fail_after(SCREEN_READ_S):
        async with harness.daemon(), attached(harness, codex) as terminal:
            await terminal.types("Say one thing.")
            await terminal.shows("Context: 0%  1.0k/258k")
            await terminal.types("/compact")
            await terminal.shows("compacted ×1")
