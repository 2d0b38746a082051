"""Finds the session of Gemini CLI in which a `/clear` started another one. Pure.

A clear starts a new file at once, and the prompt log records the command. The log only has the id
of the process's first session, so the session is found by time: the last one that was started
before.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.gemini.prompt_log import PromptLog, Typed

TOLERANCE = timedelta(seconds=2)
CONFIDENCE = 0.95
KINDS: dict[str, u.ClearKind] = {"/clear": "clear", "/new": "new"}


class Beginning(NamedTuple):
    """The start of a session of the project."""

    session_id: str
    began: datetime | None


def clears_between(sessions: list[Beginning], log: PromptLog) -> list[u.Clear]:
    """Returns the clears that started these sessions."""
    dated = sorted(
        ((one.began, one.session_id) for one in sessions if one.began is not None),
    )
    found: list[u.Clear] = []
    for typed in log.clears:
        begun = [at for at, (began, _) in enumerate(dated) if abs(began - typed.at) <= TOLERANCE]
        if begun and begun[0] > 0:
            found.append(_clear(typed, dated[begun[0] - 1][1], dated[begun[0]][1]))
    return found


def _clear(typed: Typed, origin: str, session_id: str) -> u.Clear:
    return u.Clear(
        after_message_index=-1,
        timestamp=typed.at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        kind=KINDS.get(typed.command, "clear"),
        from_session=origin,
        to_session=session_id,
        confidence=CONFIDENCE,
        evidence=[
            u.Evidence(kind="prompt_log", detail=f"logs.json has {typed.command}"),
            u.Evidence(kind="time", detail="the new session began within 2 s of it"),
        ],
    )
