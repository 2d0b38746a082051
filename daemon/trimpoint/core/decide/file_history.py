"""Derives the history of a thread's files: the captured states, and the author of each change
between them.

A revert takes back only the changes that the agent's turns made. Changes between the end of a turn
and the start of the next have another author: a person, another thread, a commit or a change of
branch.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from trimpoint.core.model.state import Checkpoint, Reverting, ThreadState

Author = Literal["thread", "others", "unknown", "found"]
"""The author of a change. `thread`: one of its turns or reverts. `others`: anyone else. `unknown`:
no checkpoint separates the changes of a turn from those of others. `found`: a state that the daemon
found at its start, without the changes of the turn.
"""

LATE = "It was captured when the turn had begun already, and may hold some of its changes."


class Leg(NamedTuple):
    """One step of the history: the commit of the files after the change, and the change's
    author.
    """

    commit: str
    author: Author


class FileHistory(NamedTuple):
    """The history of the files since the state to go back to. `start` is the commit of that state,
    `legs` are the states captured since, and `now` is the author of the changes after the last of
    them.
    """

    start: str
    legs: list[Leg]
    now: Author


def file_history(state: ThreadState, reverting: Reverting) -> FileHistory:
    """Returns the history of the files between the target of a revert and now."""
    at = _start(state, reverting)
    if at is None:
        return FileHistory(reverting.commit, [], "unknown")
    later = [
        one
        for one in list(state.checkpoints)[at + 1 :]
        if one.repository in ("", reverting.repository)
    ]
    legs: list[Leg] = []
    gap = False
    for checkpoint in later:
        if checkpoint.commit:
            legs.append(Leg(checkpoint.commit, _author(state, checkpoint, gap=gap)))
        gap = not checkpoint.commit
    unseen = bool(state.turns) and not _is_ended(state, len(state.turns) - 1)
    return FileHistory(reverting.commit, legs, "unknown" if gap or unseen else "others")


def is_late(checkpoint: Checkpoint) -> bool:
    """Returns whether the baseline was captured after its turn had begun to work."""
    return LATE in checkpoint.notes


def _start(state: ThreadState, reverting: Reverting) -> int | None:
    """Returns the index of the checkpoint that is the target of the revert, or None if it is not in
    the thread.
    """
    kept = state.turn_index[reverting.turn_id] + 1 if reverting.turn_id is not None else 0
    first = state.turns[kept].id if not reverting.undo and kept < len(state.turns) else None
    wanted = (
        {(None, "safety")} if reverting.undo else {(reverting.turn_id, "after"), (first, "before")}
    )
    found = None
    for index, checkpoint in enumerate(state.checkpoints):
        if (
            checkpoint.commit == reverting.commit
            and (checkpoint.turn_id, checkpoint.moment) in wanted
        ):
            found = index
    return found


def _author(state: ThreadState, checkpoint: Checkpoint, *, gap: bool) -> Author:
    match checkpoint.moment:
        case "reverted":
            return "thread"
        case "after":
            return "unknown" if gap else "thread"
        case "before":
            return (
                "unknown"
                if gap or is_late(checkpoint) or _follows_unseen(state, checkpoint)
                else "others"
            )
        case "found":
            return "found"
        case _:
            return "unknown" if gap else "others"


def _follows_unseen(state: ThreadState, checkpoint: Checkpoint) -> bool:
    """Returns whether the end of the turn before was never captured, so that its changes cannot be
    distinguished from those of others.
    """
    index = state.turn_index.get(checkpoint.turn_id or "", 0)
    return index > 0 and not _is_ended(state, index - 1)


def _is_ended(state: ThreadState, index: int) -> bool:
    turn_id = state.turns[index].id
    return any(one.turn_id == turn_id for one in _ends(state))


def _ends(state: ThreadState) -> Iterator[Checkpoint]:
    return (one for one in reversed(state.checkpoints) if one.moment == "after" and one.commit)
