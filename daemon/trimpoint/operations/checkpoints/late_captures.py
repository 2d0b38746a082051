"""The files after a turn that ended while no daemon was there to capture them.

What was changed before the turn was last heard of is the turn's. Whoever changed the rest cannot be
told: a command of the agent's that ran on, or a person. So it is captured apart, as `found`, and a
revert asks before it takes it back.
"""

import os
from collections.abc import Iterable

import anyio

from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState, Turn
from trimpoint.git.capture.capture import Checkpoint
from trimpoint.git.capture.omissions import notes_of
from trimpoint.git.capture.refs import checkpoint_ref, find, keep
from trimpoint.git.plumbing.compare import Difference, differences
from trimpoint.git.plumbing.repository import Repository
from trimpoint.git.restore.plan import Step, plan_of
from trimpoint.git.restore.taking_back import TakingBack, commit_of
from trimpoint.threads.registry import ABANDONED

AFTERWARDS = "It was captured after the daemon had been away."
FOUND = "Changed while the daemon was away: by the agent or by others."

_MS = 1_000_000


def uncaptured_turn(state: ThreadState) -> Turn | None:
    """The last turn, if it has ended, began with a known state of the files, and was never looked
    at after that.
    """
    turn = state.turns[-1] if state.turns else None
    if turn is None or turn.id == state.running_turn_id or not state.known_files:
        return None
    if turn.completed_at_ms == turn.started_at_ms:
        return None  # it was read back as a whole, and ran when there was no daemon
    moments = {one.moment for one in state.checkpoints if one.turn_id == turn.id}
    return None if "after" in moments else turn


async def late_facts(
    state: ThreadState, turn: Turn, repository: Repository, present: Checkpoint
) -> tuple[ev.AnyEvent, ...]:
    """Returns what to record of a turn whose files are looked at only now.

    :raises GitError: git failed
    """
    notes = (AFTERWARDS, *notes_of(present.left_out))
    where = str(repository.worktree)
    doubtful: list[Difference] = []
    if await find(repository, state.known_files) is not None:
        changed = await differences(repository, state.known_files, present.commit)
        last_heard = _last_heard_ms(state, turn)
        doubtful = await anyio.to_thread.run_sync(_changed_since, repository, changed, last_heard)
    steps = [Step(each.path, each.new, each.old) for each in doubtful]
    taking = TakingBack(present.commit, plan_of(steps, present.left_out), ())
    ended = await commit_of(repository, taking) if doubtful else present.commit
    ref = checkpoint_ref(state.id, f"{turn.id}-after")
    await keep(repository, ref, ended)
    facts = [ev.CheckpointCaptured(turn.id, "after", where, ref, ended, notes)]
    if doubtful:
        ref = checkpoint_ref(state.id, f"{turn.id}-found")
        await keep(repository, ref, present.commit)
        facts.append(
            ev.CheckpointCaptured(turn.id, "found", where, ref, present.commit, (FOUND, *notes[1:]))
        )
    return tuple(facts)


def _last_heard_ms(state: ThreadState, turn: Turn) -> int:
    ended = turn.completed_at_ms or turn.started_at_ms
    if turn.error != ABANDONED:
        return ended
    # It was ended by the daemon that came after; what was read back since is as late.
    heard = (entry.created_at_ms for entry in state.entries_of(turn) if entry.created_at_ms < ended)
    return max(heard, default=turn.started_at_ms)


def _changed_since(
    repository: Repository, changed: Iterable[Difference], since_ms: int
) -> list[Difference]:
    return [
        each
        for each in changed
        if not _is_older(os.path.join(os.fsencode(repository.worktree), each.path), since_ms)
    ]


def _is_older(path: bytes, than_ms: int) -> bool:
    """False for what is gone: nothing tells when it went."""
    try:
        # The time of the last change of any kind; unlike that of the content, no program can set
        # it.
        return os.lstat(path).st_ctime_ns // _MS <= than_ms
    except OSError:
        return False
