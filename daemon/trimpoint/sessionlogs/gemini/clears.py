"""Finds the session of Gemini CLI in which a `/clear` started another one. Pure.

A clear starts a new file at once, and the prompt log records the command. The log only has the id
of the process's first session, so the session is found by time: the last one that was started
before. In older versions the new file has the id of the old one, and begins with the next prompt
(measured: 0.30.1).
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.gemini.prompt_log import PromptLog, Typed, time_of

TOLERANCE = timedelta(seconds=2)
CONFIDENCE = 0.95
CONFIDENCE_WITHOUT_LOG = 0.8
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


def cleared_in_place(
    session_id: str, after: int, log: PromptLog, last: str | None, began: str | None
) -> u.ClearRecord:
    """Returns the clear between two files of one session. `last` is the time of the last message of
    the first file, `began` the start of the second.
    """
    evidence = [u.Evidence(kind="file", detail="the session goes on in another file, which is new")]
    typed = _typed_between(log, time_of(last), time_of(began))
    if typed is not None:
        detail = f"logs.json has {typed.command} between them"
        evidence.append(u.Evidence(kind="prompt_log", detail=detail))
    return u.ClearRecord(
        after_message_index=after,
        timestamp=began,
        kind=KINDS.get(typed.command, "clear") if typed is not None else "clear",
        from_session=session_id,
        to_session=session_id,
        confidence=CONFIDENCE if typed is not None else CONFIDENCE_WITHOUT_LOG,
        evidence=evidence,
    )


def _typed_between(log: PromptLog, last: datetime | None, began: datetime | None) -> Typed | None:
    if last is None or began is None:
        return None
    between = (one for one in log.clears if last <= one.at <= began)
    return next(between, None)
