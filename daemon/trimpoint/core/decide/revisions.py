"""Resolves the names that a person may type for a state of the worktree to a checkpoint."""

from collections.abc import Iterator
from typing import NamedTuple

from trimpoint_protocol.errors import Reason

from trimpoint.core.model.decision import LISTED, Rejected, counted
from trimpoint.core.model.ledger import Turn
from trimpoint.core.model.state import Checkpoint, ThreadState

NOW, SAFETY = "now", "safety"

_MIN_COMMIT_PREFIX = 7
_PROMPT_CHARS = 200
_MAX_DIGITS = 9


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


def turn_files(state: ThreadState, *, first: int = 0) -> Iterator[TurnFiles]:
    """Yields the checkpoints of each turn from number `first` on, in order."""
    newest = {(one.turn_id, one.moment): one for one in state.checkpoints}
    for number in range(first, len(state.turns) + 1):
        turn = state.turns[number - 1] if number else None
        made = newest.get((turn.id, "after")) if turn is not None else _begun(state, newest, 1)
        after = made if made is not None and made.commit else _begun(state, newest, number + 1)
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


def _last_problem(state: ThreadState) -> str:
    """Returns why there are no checkpoints, or an empty string. A problem is recorded once, not
    again with every turn.
    """
    return next((one.problem for one in reversed(state.checkpoints) if one.problem), "")


def _begun(
    state: ThreadState, newest: dict[tuple[str | None, str], Checkpoint], number: int
) -> Checkpoint | None:
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
        case _ if name in state.turn_index:
            return _ended(state, state.turn_index[name] + 1)
        case _ if _is_number(name) and int(name) <= len(state.turns):
            return _ended(state, int(name))
        case _:
            return _by_commit(state, name)


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


def _by_commit(state: ThreadState, name: str) -> Revision | Rejected:
    if checkpoint := _of_commit(state, name):
        return Revision(name, checkpoint)
    turns = counted(len(state.turns), "turn")
    return Rejected(
        Reason.TURN_NOT_FOUND,
        f"{name!r} names no turn and no checkpoint of the thread, which has {turns}.",
        hints=LISTED,
    )


def _of_commit(state: ThreadState, name: str) -> Checkpoint | None:
    if len(name) < _MIN_COMMIT_PREFIX:
        return None
    return next((one for one in state.checkpoints if one.commit.startswith(name)), None)


def _turn_of(state: ThreadState, commit: str) -> tuple[int, str] | None:
    """Returns the number of the turn that a checkpoint belongs to, and its moment; None for one of
    no turn, as a safety checkpoint is.
    """
    checkpoint = _of_commit(state, commit)
    if checkpoint is None or checkpoint.moment not in ("before", "after"):
        return None
    number = state.turn_index.get(checkpoint.turn_id or "")
    return (number + 1, checkpoint.moment) if number is not None else None


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
    if newer is not None and newer in state.turn_index:
        number = state.turn_index[newer] + 1
    elif newer is not None and _is_number(newer):
        number = int(newer)
    elif newer is not None and (made := _turn_of(state, newer)):
        number, moment = made
        if moment == "before" and number > 1:
            return _ended(state, number - 1)
        number = 0 if moment == "before" else number
    elif newer is not None and state.running_turn_id is None:
        return _ended(state, number)
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
