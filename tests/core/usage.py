"""Reports of usage, as Codex sends them."""

from trimpoint.core.model import events as ev

from tests.core.given import Conversation

WINDOW = 258_400


def call(
    turn_id: str, given: int, running_total: int, window: int | None = WINDOW
) -> ev.UsageReported:
    """Returns the usage of a model call with this many input tokens and ten output tokens, four of
    them for reasoning.
    """
    return ev.UsageReported(turn_id, given + 10, running_total, window, given, given // 2, 10, 4)


def made_up(turn_id: str, last_total: int, running_total: int) -> ev.UsageReported:
    """Returns a report that belongs to no model call."""
    return ev.UsageReported(turn_id, last_total, running_total, WINDOW)


def complete(thread: Conversation, turn_id: str, error_kind: str = "") -> None:
    status = "failed" if error_kind else "completed"
    thread.report(ev.TurnCompleted(turn_id, status, error_kind or None, error_kind=error_kind))
