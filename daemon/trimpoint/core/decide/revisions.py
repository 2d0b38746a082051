"""Resolves what a person may type or paste for a turn or for a state of the worktree: each id that
a list, a search or a timeline shows.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.hints import CommandHint

from trimpoint.core.model.decision import LISTED, Rejected, counted
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.spelling import short_id
from trimpoint.core.model.state import Checkpoint, ThreadState

NOW, SAFETY = "now", "safety"

_MIN_COMMIT_PREFIX = 7
_PROMPT_CHARS = 200
_MAX_DIGITS = 9
_BEFORE_REVERT = (CommandHint("/revert --undo", "goes back to it"),)
_ENTRY = re.compile(r"(?:([\w-]{4,36}):)?[hm]([1-9][0-9]{0,8})\.[1-9][0-9]{0,8}")


class Revision(NamedTuple):
    """A named state of the worktree. `label` describes it for a person; `checkpoint` is None for
    the worktree as it is now.
    """

    label: str
    checkpoint: Checkpoint | None

    @property
    def commit(self) -> str:
        """Returns the commit of the checkpoint; empty for the worktree as it is now."""
        return self.checkpoint.commit if self.checkpoint is not None else ""


class TurnFiles(NamedTuple):
    """The checkpoints before and after one turn. Number 0 is the time before the first turn; then
    `turn` and `before` are None.

    `before` and `after` are None if there is no checkpoint; `problem` says why. `notes` say what
    `after` lacks.
    """

    number: int
    turn: Turn | None
    prompt: str
    before: Checkpoint | None
    after: Checkpoint | None
    notes: tuple[str, ...]
    problem: str


def resolve_range(
    state: ThreadState, older: str | None, newer: str | None
) -> tuple[Revision, Revision] | Rejected:
    """Returns the two revisions to compare, or a rejection. The number or id of a turn means the
    end of that turn, `now` the worktree as it is.

    If `newer` is None, it is the last turn. If `older` is None, it is the start of the turn
    `newer`; with `now`, it is the start of the running turn or the end of the last one.
    """
    if not state.turns:
        return Rejected(
            Reason.CHECKPOINT_NOT_FOUND,
            "The thread has no turns yet, so there are no checkpoints to compare.",
        )
    end = _named(state, str(len(state.turns)) if newer is None else newer)
    if isinstance(end, Rejected):
        return end
    begin = _beginning(state, newer) if older is None else _named(state, older)
    return begin if isinstance(begin, Rejected) else (begin, end)


def turn_named(state: ThreadState, name: str) -> int | Rejected:
    """Returns the number of the turn that `name` means, counted from 1, or the rejection.

    It is the turn's number or id, an entry of it (`h3.2`, `1a2b3c4d:h3.2`, `m3.2`), or the
    checkpoint after it. 0 is the time before the first turn.
    """
    if name in state.turn_index:
        return state.turn_index[name] + 1
    if _is_number(name) and int(name) <= len(state.turns):
        return int(name)
    if (entry := _ENTRY.fullmatch(name)) is not None:
        return _of_entry(state, name, entry[1], int(entry[2]))
    if (number := _number_of(state, name)) is not None:
        return number
    if _of_commit(state, name) is not None:
        said = f"{name!r} is the state before a revert, and not that after a turn."
        return Rejected(Reason.TURN_NOT_FOUND, said, hints=_BEFORE_REVERT)
    return _unknown(state, name)


def _of_entry(state: ThreadState, name: str, thread: str | None, turn: int) -> int | Rejected:
    ours = state.id, short_id(state.id)
    if thread and not (state.id.endswith(thread) or any(one.startswith(thread) for one in ours)):
        said = f"{name!r} is an entry of another thread."
        return Rejected(Reason.TURN_NOT_FOUND, said, hints=LISTED)
    return turn if turn <= len(state.turns) else _unknown(state, name)


def turn_files(state: ThreadState, *, first: int = 0) -> Iterator[TurnFiles]:
    """Yields the checkpoints of each turn from number `first` on, in order."""
    newest = _newest(state)
    for number in range(first, len(state.turns) + 1):
        turn = state.turns[number - 1] if number else None
        made = _made(state, newest, number)
        after = _after(state, newest, number)
        is_missing = after is None and turn is not None and turn.id != state.running_turn_id
        yield TurnFiles(
            number,
            turn,
            _prompt(state, turn) if turn is not None else "",
            _begun(state, newest, number) if number else None,
            after,
            made.notes if made is not None else (),
            made.problem
            if made is not None and made.problem
            else _last_problem(state)
            if is_missing
            else "",
        )


_Newest = dict[tuple[str | None, str], Checkpoint]


def _newest(state: ThreadState) -> _Newest:
    return {(one.turn_id, one.moment): one for one in state.checkpoints}


def _made(state: ThreadState, newest: _Newest, number: int) -> Checkpoint | None:
    turn = state.turns[number - 1] if number else None
    return newest.get((turn.id, "after")) if turn is not None else _begun(state, newest, 1)


def _after(state: ThreadState, newest: _Newest, number: int) -> Checkpoint | None:
    """Returns the checkpoint that a list shows for the turn `number`."""
    made = _made(state, newest, number)
    return made if made is not None and made.commit else _begun(state, newest, number + 1)


def _last_problem(state: ThreadState) -> str:
    """Returns why there are no checkpoints, or an empty string. A problem is recorded once, not
    again with every turn.
    """
    return next((one.problem for one in reversed(state.checkpoints) if one.problem), "")


def _begun(state: ThreadState, newest: _Newest, number: int) -> Checkpoint | None:
    """Returns the checkpoint of the worktree at the start of turn `number`: its baseline, or else
    the capture after the turn before it. Returns None if there is neither.
    """
    turns = state.turns
    baseline = newest.get((turns[number - 1].id, "before")) if number <= len(turns) else None
    if baseline is not None and baseline.commit:
        return baseline
    left = newest.get((turns[number - 2].id, "after")) if number > 1 else None
    return left if left is not None and left.commit else None


def _named(state: ThreadState, name: str) -> Revision | Rejected:
    match name:
        case "now":
            return Revision("now", None)
        case "safety":
            return _safety(state)
        case _ if checkpoint := _of_commit(state, name):
            return Revision(name, checkpoint)
        case _:
            number = turn_named(state, name)
            return number if isinstance(number, Rejected) else _ended(state, number)


def _is_number(name: str) -> bool:
    # Longer numbers count no turns, and Python refuses to parse very long ones.
    return name.isdecimal() and len(name) <= _MAX_DIGITS


def _safety(state: ThreadState) -> Revision | Rejected:
    for checkpoint in reversed(state.checkpoints):
        if checkpoint.moment == SAFETY:
            return Revision("before the last revert", checkpoint)
    return Rejected(
        Reason.CHECKPOINT_NOT_FOUND, "There is no safety checkpoint: no files were reverted yet."
    )


def _unknown(state: ThreadState, name: str) -> Rejected:
    turns = counted(len(state.turns), "turn")
    return Rejected(
        Reason.TURN_NOT_FOUND,
        f"{name!r} names no turn and no checkpoint of the thread, which has {turns}.",
        hints=LISTED,
    )


def _of_commit(state: ThreadState, name: str) -> Checkpoint | None:
    if len(name) < _MIN_COMMIT_PREFIX or name in state.turn_index:
        return None
    return next((one for one in reversed(state.checkpoints) if one.commit.startswith(name)), None)


def _row_of(state: ThreadState, commit: str) -> int | None:
    """Returns the number of the turn beside which a list shows the checkpoint; the last one, if
    turns that changed nothing share it.
    """
    newest = _newest(state)
    for number in range(len(state.turns), -1, -1):
        after = _after(state, newest, number)
        if after is not None and after.commit.startswith(commit):
            return number
    return None


def _number_of(state: ThreadState, commit: str) -> int | None:
    """Returns the number of the turn after which the files were as in a checkpoint; None for that
    of no turn, as a safety checkpoint is.
    """
    checkpoint = _of_commit(state, commit)
    if checkpoint is None:
        return None
    if (row := _row_of(state, commit)) is not None:
        return row
    index = state.turn_index.get(checkpoint.turn_id or "")
    return index if checkpoint.moment == "before" else None


def _ended(state: ThreadState, number: int) -> Revision | Rejected:
    if number and state.turns[number - 1].id == state.running_turn_id:
        return Revision("now", None)
    files = next(turn_files(state, first=number))
    label = f"after turn {number}" if number else "before turn 1"
    return _revision(label, files.after, files.problem)


def _beginning(state: ThreadState, newer: str | None) -> Revision | Rejected:
    """Returns the default for the older revision of a comparison: the start of the turn `newer`, or
    for `now` the start of the running turn or the end of the last one.
    """
    number = len(state.turns)
    if newer is not None:
        behind = _number_of(state, newer)
        is_of_no_turn = behind is None and _of_commit(state, newer) is not None
        if newer in (NOW, SAFETY) or is_of_no_turn:
            if state.running_turn_id is None:
                return _ended(state, number)
        elif behind is not None and _row_of(state, newer) is None:
            return _ended(state, behind)
        else:
            named = turn_named(state, newer)
            number = named if isinstance(named, int) else number
    if number == 0:
        return Rejected(
            Reason.CHECKPOINT_NOT_FOUND, "There is nothing before the first turn to compare with."
        )
    return _revision(
        f"before turn {number}", next(turn_files(state, first=number)).before, _last_problem(state)
    )


def _revision(label: str, checkpoint: Checkpoint | None, problem: str) -> Revision | Rejected:
    if checkpoint is None:
        why = problem.rstrip(".") or "none was made"
        return Rejected(
            Reason.CHECKPOINT_NOT_FOUND, f"There is no checkpoint of the files {label}: {why}."
        )
    return Revision(label, checkpoint)


def _prompt(state: ThreadState, turn: Turn) -> str:
    for entry in state.entries_of(turn):
        if entry.kind == "message" and entry.role == "user":
            return " ".join(entry.text.split())[:_PROMPT_CHARS]
    return ""
