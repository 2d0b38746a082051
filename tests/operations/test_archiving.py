"""A superseded provider thread stays in its place while a client that looks for its file is there."""

from typing import Any, cast

import pytest
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderError
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.operations.provider.archiving import Archiving
from trimpoint_protocol.commands import TrimContext

from tests.operations.stage import ScriptedCodex, opened_stage
from tests.threads.stage import THREAD, Disk, turn


class Link:
    """Refuses to archive the threads `without_rollout`."""

    def __init__(self, *without_rollout: str) -> None:
        self.asked: list[tuple[str, str]] = []
        self._without_rollout = without_rollout

    async def request(self, method: str, params: dict[str, Any]) -> None:
        self.asked.append((method, params["threadId"]))
        if method == "thread/archive" and params["threadId"] in self._without_rollout:
            raise ProviderError(-32600, "no rollout found", None, Raw(b"{}"))


async def test_what_is_held_is_due_when_the_client_has_left_until_it_is_archived() -> None:
    open_in_ui = {"t"}
    archiving = Archiving(cast("CodexLink", Link()), open_in_ui.__contains__)
    assert not archiving.holds("other", "p1")
    assert not archiving.holds("t", None)
    assert archiving.holds("t", "p1")
    assert archiving.holds("t", "p1")
    assert archiving.due() == []
    open_in_ui.clear()
    assert archiving.due() == archiving.due() == ["p1"]  # Codex may have died meanwhile
    await archiving.archive("p1")
    assert archiving.due() == []


async def test_what_was_left_is_archived_once_in_the_life_of_a_codex() -> None:
    """Up to the newest that Codex refuses, which is archived, unless it never had a turn."""
    state = ThreadState(id="t")
    state.generations = [
        Generation(number, "clear", "none", provider_thread_id=f"p{number}", turn_count=number != 3)
        for number in range(1, 6)
    ]
    link = Link("p2", "p3")
    archiving = Archiving(cast("CodexLink", link), lambda _: False)
    for _ in range(2):
        await archiving.archive_left(state, 4)
    newest_first = [("thread/archive", provider_id) for provider_id in ("p4", "p3", "p2")]
    assert link.asked == newest_first
    archiving.forget_epoch()
    await archiving.archive_left(state, 4)
    assert link.asked == 2 * newest_first


async def test_a_daemon_archives_what_the_one_before_it_left() -> None:
    codex, disk = ScriptedCodex(), Disk()
    is_in_ui = [True]
    async with opened_stage(codex, disk, reads_file=lambda _: is_in_ui[0]) as stage:
        writer = await stage.thread("T1", "T2")
        for number in range(3):
            await stage.operations.sessions.dispatch(
                TrimContext(command_id=f"c{number}", thread_id=THREAD, keep_last_n_turns=1)
            )
            await stage.ended(writer)
            writer.record_facts(*turn(f"T{number + 3}", number + 2))
        superseded = [one.provider_thread_id for one in writer.state.generations[:-1]]
        await writer.flush()
    assert codex.count("thread/archive") == 0
    async with opened_stage(codex, disk) as stage:
        await stage.operations.sessions.ready(THREAD)
        await codex.until(lambda: codex.count("thread/archive") == len(superseded))
    asked = [params["threadId"] for method, params in codex.asked if method == "thread/archive"]
    assert asked == superseded[::-1]


@pytest.mark.parametrize("refused", [False, True])
async def test_a_thread_that_cannot_be_archived_is_let_go(refused: bool) -> None:
    link = Link(*["p1"] * refused)
    await Archiving(cast("CodexLink", link), lambda _: False).archive("p1")
    expected = [("thread/archive", "p1"), ("thread/unsubscribe", "p1")]
    assert link.asked == expected[: 1 + refused]
