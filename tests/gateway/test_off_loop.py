"""A view of a long thread keeps no other client waiting, and shows the thread as it was asked for."""

from collections.abc import Callable
from threading import get_ident
from typing import Any

import anyio
import msgspec
import pytest
from anyio.lowlevel import checkpoint
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.ledger import Entry, Turn
from trimpoint.core.model.state import Generation, ThreadState
from trimpoint.core.views.inspection_view import inspection
from trimpoint.gateway.methods.extension.context_messages import message_list
from trimpoint.journal.codec import lazy_list
from trimpoint.journal.codec.lazy_list import LazyList
from trimpoint.threads.off_loop import off_loop


def message(role: str, text: str) -> bytes:
    return msgspec.json.encode(
        {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}
    )


def long_thread(turns: int) -> ThreadState:
    state = ThreadState(id="thread", generations=[Generation(1, "started", "none", ready=True)])
    for number in range(turns):
        turn_id = f"T{number}"
        items = [message("user", "go"), message("assistant", "gone")]
        state.turn_index[turn_id] = number
        state.turns.append(
            Turn(turn_id, 1, 0, number, "completed", 1, items=items, items_complete=True)
        )
        state.entries.append(Entry(f"E{number}", turn_id, "message", "user", "go", 0, b""))
    return state


def inspected(state: ThreadState) -> Any:
    sent = [item for turn in state.turns for item in turn.items]
    return inspection(state, Policy(), sent, predicted=False)


def listed(state: ThreadState) -> Any:
    return message_list(state, DiscardPolicy())


@pytest.mark.parametrize("view", [inspected, listed])
async def test_a_view_of_a_long_thread_is_the_same_off_the_loop(
    view: Callable[[ThreadState], Any],
) -> None:
    state = long_thread(300)
    assert await off_loop(state, view) == view(state)


async def test_a_view_of_a_long_thread_lets_the_loop_go_on() -> None:
    loop, may_end, ran_in = get_ident(), anyio.Event(), [0]

    def view(state: ThreadState) -> int:
        ran_in[0] = get_ident()
        anyio.from_thread.run(may_end.wait)
        return len(state.turns)

    state = long_thread(300)
    async with anyio.create_task_group() as tasks:

        async def others() -> None:
            while not ran_in[0]:
                await checkpoint()
            state.turns.append(Turn("T300", 1, 0, 300))
            may_end.set()

        tasks.start_soon(others)
        assert await off_loop(state, view) == 300
    assert ran_in[0] != loop


async def test_only_one_view_of_a_thread_is_computed_at_a_time_and_those_of_others_do_not_wait() -> (
    None
):
    present, most, viewed = list[str](), list[list[str]](), anyio.Event()

    def view(state: ThreadState) -> None:
        present.append(state.id)
        most.append(sorted(present))
        if state.id == "waiting":
            anyio.from_thread.run(viewed.wait)
        present.remove(state.id)

    waiting, other = long_thread(300), long_thread(300)
    waiting.id, other.id = "waiting", "other"
    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(off_loop, waiting, view)
        while not present:
            await checkpoint()
        await off_loop(other, view)
        viewed.set()
    assert most.count(["other", "waiting"]) == 1
    assert most.count(["waiting"]) == 3


async def test_a_view_that_is_cancelled_while_it_waits_leaves_the_others() -> None:
    started, may_end, seen = anyio.Event(), anyio.Event(), list[int]()

    def long_view(state: ThreadState) -> None:
        anyio.from_thread.run_sync(started.set)
        anyio.from_thread.run(may_end.wait)

    def view(state: ThreadState) -> None:
        seen.append(len(state.turns))

    state = long_thread(300)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(off_loop, state, long_view)
        await started.wait()
        with anyio.CancelScope() as waits:
            waits.cancel()
            await off_loop(state, view)
        may_end.set()
        await off_loop(state, view)
    assert seen == [300]


async def test_what_a_view_returns_outlives_the_copy_that_it_was_made_of() -> None:
    state = long_thread(5_000)
    turns = await off_loop(state, lambda present: present.turns)
    assert [turn.id for turn in turns] == [turn.id for turn in state.turns]


@pytest.mark.parametrize("turns", [3_000, 30_000])
async def test_a_thread_of_a_snapshot_is_read_in_slices(
    monkeypatch: pytest.MonkeyPatch, turns: int
) -> None:
    state = long_thread(turns)
    size = lazy_list.CHUNK_ITEMS
    state.turns = LazyList[Turn](
        [memoryview(chunk) for chunk in packed(state.turns, size)],
        turns,
        msgspec.msgpack.Decoder(list[Turn]),
    )
    rounds, decoded, most = [0], [0], [0]
    inner = LazyList[Turn]._chunk

    def counted(self: Any, chunk: int) -> Any:
        decoded[0] += isinstance(self._packed[chunk], memoryview)
        most[0] = max(most[0], decoded[0])
        return inner(self, chunk)

    monkeypatch.setattr(LazyList, "_chunk", counted)
    async with anyio.create_task_group() as tasks:

        async def others() -> None:
            while True:
                rounds[0], decoded[0] = rounds[0] + 1, 0
                await checkpoint()

        tasks.start_soon(others)
        seen: list[int] = []
        await off_loop(state, lambda present: seen.append(len(present.turns)))
        tasks.cancel_scope.cancel()
    assert (seen, rounds[0] > turns // size, most[0]) == ([turns], True, 1)


def packed(turns: Any, size: int) -> list[bytes]:
    return [
        msgspec.msgpack.encode(list(turns[start : start + size]))
        for start in range(0, len(turns), size)
    ]
