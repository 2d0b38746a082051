"""Whatever a seed does to a daemon, what must hold does; and a defect is found."""

import os
from collections.abc import Callable
from typing import Any

import pytest
from trimpoint.core.model.commands import AbandonOpenWork
from trimpoint.operations.routing.ordered_sink import OrderedSink
from trimpoint.operations.runner import OperationRunner
from trimpoint.threads.writing.writer import ThreadWriter

from tests.effort import tries
from tests.simulation.world import simulate

# About five seconds; TRIMPOINT_SEEDS=10000 for more, and `python -m tests.simulation` for other ones.
SEEDS = int(os.environ.get("TRIMPOINT_SEEDS") or tries(40))
PIECES = 8


@pytest.mark.parametrize("first", range(PIECES))
def test_what_must_hold_does_for_every_seed(first: int) -> None:
    for seed in range(first, SEEDS, PIECES):
        simulate(seed)


# An end told twice on a full disk; an unmarked prompt in the gap before the next Codex.
DIRECTED = [20, 159]


@pytest.mark.parametrize("seed", DIRECTED)
def test_what_failed_once_holds(seed: int) -> None:
    simulate(seed)


def unordered(patch: pytest.MonkeyPatch) -> None:
    """Sends everything but the ends of turns past what waits."""
    patch.setattr(OrderedSink, "in_order", lambda self, thread_id, send: send())


def ends_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Drops the facts that the end of Codex makes true."""
    inner = ThreadWriter.submit

    def submit(self: ThreadWriter, command: Any, *ahead: Any) -> Any:
        return None if isinstance(command, AbandonOpenWork) else inner(self, command, *ahead)

    patch.setattr(ThreadWriter, "submit", submit)


def facts_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Keeps no fact that the disk refused."""
    patch.setattr(ThreadWriter, "_replay_unwritten", lambda self: self._unwritten_facts.take())


def never_repeated(patch: pytest.MonkeyPatch) -> None:
    """Gives up an operation when the disk has refused one of its steps."""
    inner = OperationRunner._ends

    async def ends(self: OperationRunner, writer: ThreadWriter) -> bool:
        await inner(self, writer)
        return True

    patch.setattr(OperationRunner, "_ends", ends)


DEFECTS = [unordered, ends_forgotten, facts_forgotten, never_repeated]


@pytest.mark.parametrize("plant", DEFECTS, ids=lambda one: one.__name__)
def test_a_defect_is_found_by_some_seed(
    monkeypatch: pytest.MonkeyPatch, plant: Callable[[pytest.MonkeyPatch], None]
) -> None:
    plant(monkeypatch)
    # The order is that in which they were found, for each costs a tenth of a second.
    assert any(map(fails, (*range(8), 57, *range(200))))


def fails(seed: int) -> bool:
    try:
        simulate(seed)
    except AssertionError:
        return True
    except BaseExceptionGroup as group:
        return group.subgroup(AssertionError) is not None
    return False
