"""Captures the files after a turn that was not captured in time: by the next daemon, or after
clients were notified of the turn's end.

Changes that are not younger than the last report of the turn belong to the turn. Later changes may
come from a command of the agent that was still running, or from a person. They are captured
separately, with the moment `found`, and a revert that would take them back is refused.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import count

import anyio

from trimpoint.core.model import events as ev
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import Checkpoint as RecordedCheckpoint
from trimpoint.core.model.state import ThreadState
from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import notes_of
from trimpoint.git.capture.refs import checkpoint_ref, find, keep
from trimpoint.git.plumbing.compare import Difference, differences
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.restore.plan import Step, plan_of
from trimpoint.git.restore.taking_back import TakingBack, commit_of
from trimpoint.threads.unfinished_items import ABANDONED

AFTERWARDS = "It was captured after the daemon had been away."
DELAYED = "It was captured some time after the turn had ended."
FOUND = "Changed after the turn had ended and before it was captured: by the agent or by others."

_MS = 1_000_000


def uncaptured_turn(state: ThreadState) -> Turn | None:
    """Returns the last turn if it has ended, has a baseline, and was not captured afterwards;
    otherwise None.
    """
    turn = state.turns[-1] if state.turns else None
    if turn is None or turn.id == state.running_turn_id or not state.known_files:
        return None
    if turn.completed_at_ms == turn.started_at_ms:
        return None  # the turn was read back from Codex as a whole, and ran without a daemon
    moments = {one.moment for one in _newest(state, turn.id) if one.turn_id == turn.id}
    return None if "after" in moments else turn


def _newest(state: ThreadState, turn_id: str) -> Iterator[RecordedCheckpoint]:
    """Yields the newest checkpoints, with all of the turn: back to those of an earlier turn. Turns
    are captured one after the other.
    """
    for one in reversed(state.checkpoints):
        if one.moment in ("before", "after") and one.turn_id != turn_id:
            return
        yield one


def unused_ref(state: ThreadState, turn_id: str, moment: str) -> str:
    """Returns a ref for a checkpoint of the last turn that no checkpoint has, with a number added
    if necessary.
    A turn that is repeated after an overflow is captured after each try, and a revert needs every
    captured state.
    """
    used, name = {one.ref for one in _newest(state, turn_id)}, f"{turn_id}-{moment}"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(ref for ref in (checkpoint_ref(state.id, one) for one in names) if ref not in used)


async def late_facts(
    state: ThreadState, turn: Turn, repository: Repository, present: Checkpoint, reason: str
) -> tuple[ev.AnyEvent, ...]:
    """Returns the facts about the files of a turn that is captured late; `reason` is added to the
    notes.

    :raises GitError: when git failed.
    """
    notes = (reason, *notes_of(present.left_out))
    where = str(repository.worktree)
    doubtful: list[Difference] = []
    known = await find(repository, state.known_files)
    if known is not None:
        changed = await differences(repository, known.state, present.state)
        last_report_ms = _last_report_ms(state, turn)
        doubtful = await anyio.to_thread.run_sync(
            _changed_since, repository, changed, last_report_ms
        )
    steps = [Step(each.path, each.new, each.old) for each in doubtful]
    taking = TakingBack(present.commit, plan_of(steps, present.left_out), ())
    ended = await commit_of(repository, taking) if doubtful else present.commit
    ref = unused_ref(state, turn.id, "after")
    await keep(repository, ref, ended)
    facts = [ev.CheckpointCaptured(turn.id, "after", where, ref, ended, notes)]
    if doubtful:
        ref = unused_ref(state, turn.id, "found")
        await keep(repository, ref, present.commit)
        found_notes = (FOUND, *notes[1:])
        facts.append(
            ev.CheckpointCaptured(turn.id, "found", where, ref, present.commit, found_notes)
        )
    return tuple(facts)


def _last_report_ms(state: ThreadState, turn: Turn) -> int:
    ended = turn.completed_at_ms or turn.started_at_ms
    if turn.error != ABANDONED:
        return ended
    # The next daemon ended the turn, and entries that it read back are as late as that.
    reported = (
        entry.created_at_ms for entry in state.entries_of(turn) if entry.created_at_ms < ended
    )
    return max(reported, default=turn.started_at_ms)


def _changed_since(
    repository: Repository, changed: Iterable[Difference], since_ms: int
) -> list[Difference]:
    return [
        each
        for each in changed
        if not _is_older(os.path.join(os.fsencode(repository.worktree), each.path), since_ms)
    ]


def _is_older(path: bytes, than_ms: int) -> bool:
    """Returns whether the path has certainly not changed after `than_ms` (milliseconds since 1970).

    For a removed path, the last change of its parent folder decides.
    """
    while True:
        try:
            # The inode's change time; unlike the modification time, programs cannot set it.
            return os.lstat(path).st_ctime_ns // _MS <= than_ms
        except (FileNotFoundError, NotADirectoryError):
            path = os.path.dirname(path)
        except OSError:
            return False
