"""Computes views of long threads in a thread of the operating system, so that other clients need
not wait for them.
"""

from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

import anyio.to_thread
from anyio.lowlevel import RunVar, checkpoint
from msgspec import Raw, structs

from trimpoint.core.context.context_size import ContextSize, context_size
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import ThreadState

T = TypeVar("T")
# A view of fewer turns takes some milliseconds, and a thread costs about one.
_FEW_TURNS = 32
_READ_AT_ONCE = 256
_AT_ONCE = 128
_COPIED_AT_ONCE = 4096
_ATTEMPTS = 3
_SMALL_BYTES = 256 * 1024
_locks = RunVar[dict[str, anyio.Lock]]("views of long threads")


async def off_loop(
    state: ThreadState, view: Callable[[ThreadState], T], *, with_checkpoints: bool = False
) -> T:
    """Returns `view` of the state as it is now. The view must read no receipts, and checkpoints
    only with `with_checkpoints`, and may not change anything.
    """
    reverted = state.undo_state.turns if state.undo_state is not None else ()
    if len(state.turns) + len(reverted) <= _FEW_TURNS:
        return view(state)
    async with _after_others(state.id):
        await _decode(state.turns)
        await _decode(state.entries)
        if with_checkpoints:
            await _decode(state.checkpoints)
        present = _copy(state, await _copied_turns(state))
        present.checkpoints = list(state.checkpoints) if with_checkpoints else []
        return await anyio.to_thread.run_sync(_viewed, present, view)


def free(state: ThreadState) -> None:
    """Frees a state piece by piece: to free a long one at once would let no other thread run
    meanwhile. It must not be used afterwards; what was taken from it may be.
    """
    # Others may hold the lists themselves.
    turns, entries = list(state.turns), list(state.entries)
    state.turns, state.entries, state.entry_turns = [], [], {}
    for parts in (turns, entries):
        while parts:
            del parts[-_COPIED_AT_ONCE:]


def _viewed(copy: ThreadState, view: Callable[[ThreadState], T]) -> T:
    result = view(_indexed(copy))
    free(copy)
    return result


@asynccontextmanager
async def _after_others(thread_id: str) -> AsyncGenerator[None]:
    """Waits until no other view of the thread is computed. Several at once would take no less time,
    and the event loop waits for each of them whenever it has read or written something.
    """
    locks = _locks.get(dict[str, anyio.Lock]())
    _locks.set(locks)
    lock = locks.setdefault(thread_id, anyio.Lock())
    try:
        async with lock:
            yield
    finally:
        if not lock.locked():
            locks.pop(thread_id, None)


async def in_slices(items: Iterable[T]) -> AsyncGenerator[T]:
    """Yields the items, and lets other tasks run now and then."""
    for number, item in enumerate(items, 1):
        yield item
        if number % _AT_ONCE == 0:
            await checkpoint()


async def beside_the_loop(message: Raw, read: Callable[[Raw], T]) -> T:
    """Returns what `read` makes of a message of Codex. A large one is read in a thread."""
    if len(message) <= _SMALL_BYTES:
        return read(message)
    return await anyio.to_thread.run_sync(read, message)


async def size_of(state: ThreadState, policy: Policy) -> ContextSize:
    """Returns the size of the thread's context."""
    return await weighed(state, lambda present: context_size(present, policy))


async def weighed(state: ThreadState, view: Callable[[ThreadState], T]) -> T:
    """Returns `view`, which needs the size of the context and else little, of the state."""
    return await off_loop(state, view) if must_weigh(state) else view(state)


def must_weigh(state: ThreadState) -> bool:
    """Returns whether the size of a long context is unknown, so that each of its items has to be
    weighed. That is so from the moment that a context is built until Codex reports its size.
    """
    return state.usage.report is None and state.active_turn_count > _FEW_TURNS


async def active_turns(state: ThreadState) -> list[Turn]:
    """Returns the turns of the active context. Those of a snapshot are read in slices."""
    await _decode(state.turns, state.active_from_turn)
    return state.active_turns


async def _decode(items: Sequence[object], start: int = 0) -> None:
    """Reads a list of a snapshot in slices; what was read once stays decoded."""
    while len(items) - start > _READ_AT_ONCE:  # a revert may shorten it meanwhile
        items[start]
        start += _READ_AT_ONCE
        await checkpoint()


async def _copied_turns(state: ThreadState) -> list[Turn]:
    """Returns copies of the turns, made in slices as long as no record changes the thread. At the
    last attempt they are made at once.
    """
    for _ in range(_ATTEMPTS):
        sequence, turns = state.thread_sequence, list[Turn]()
        while sequence == state.thread_sequence and len(turns) < len(state.turns):
            turns += map(structs.replace, state.turns[len(turns) : len(turns) + _COPIED_AT_ONCE])
            await checkpoint()
        if sequence == state.thread_sequence:
            return turns
    return [*map(structs.replace, state.turns)]


def _copy(state: ThreadState, turns: list[Turn]) -> ThreadState:
    """Returns a copy that later records do not change. The indexes are still to be made."""
    if turns:
        turns[-1].items = list(turns[-1].items)
    return structs.replace(
        state,
        turns=turns,
        entries=list(state.entries),
        turn_index={},
        entry_turns={},
        checkpoint_places={},
        receipts={},
        prompts_read={},
        generations=[structs.replace(generation) for generation in state.generations],
        turn_aliases=dict(state.turn_aliases),
        trim_points=list(state.trim_points),
        discards=list(state.discards),
        pins=list(state.pins),
        undone=list(state.undone),
        compacted_in=list(state.compacted_in),
        compacted_behind=dict(state.compacted_behind),
        injected_before_next=list(state.injected_before_next),
        pending_requests=dict(state.pending_requests),
        turn_requests=dict(state.turn_requests),
    )


def _indexed(state: ThreadState) -> ThreadState:
    state.turn_index = {turn.id: at for at, turn in enumerate(state.turns)}
    at = state.turn_index
    state.entry_turns = {entry.id: at[entry.turn_id] for entry in state.entries}
    return state
