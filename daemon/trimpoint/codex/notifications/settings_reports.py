"""Updates a thread's settings by what Codex reports about them. Pure functions.

Codex acknowledges a change of settings before it reports it, so the report of an earlier change may
arrive after the acknowledgement of a later one. The settings keep the acknowledged changes in
`acknowledged` until a report has them all, or a whole turn has run; a report without them is kept
in `reported` meanwhile (`operations/provider/settings.py`).
"""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict

# The value of `unconfirmed` in the settings while the first turn with them is running.
_UNTIL_TURN_ENDS = "until the turn ends"
_AWAITED = ("acknowledged", "reported")
_T = TypeVar("_T")


def with_report(settings: bytes, report: Raw) -> bytes:
    """Returns `settings` updated with a report, Codex's `threadSettings`."""
    known = msgspec.json.decode(settings, type=dict[str, Raw])
    awaited = as_dict(msgspec.json.decode(known.get("acknowledged", b"{}")))
    if not _has_all(as_dict(msgspec.json.decode(report)), awaited):
        return msgspec.json.encode({**known, "reported": report})
    return msgspec.json.encode({**without_awaited(known), "current": report})


def when_turn_starts(settings: bytes) -> bytes | None:
    """Returns the settings updated when a turn has started, or None if they stay as they are."""
    known = _unconfirmed(settings)
    if known.get("unconfirmed") is not True:
        return None
    return msgspec.json.encode({**known, "unconfirmed": _UNTIL_TURN_ENDS})


def when_turn_ends(settings: bytes) -> bytes | None:
    """Returns the settings confirmed if a whole turn has run with them, else None.

    Codex reports settings before it has stored them, and may end in between, even when it is asked
    to end (measured: 0.153, 0.163).
    """
    known = _unconfirmed(settings)
    if known.pop("unconfirmed", None) != _UNTIL_TURN_ENDS:
        return None
    settled = without_awaited(known)
    if "reported" in known:
        settled["current"] = known["reported"]
    return msgspec.json.encode(settled)


def without_awaited(stored: dict[str, _T]) -> dict[str, _T]:
    """Returns decoded settings without the acknowledged changes whose report is awaited."""
    return {name: value for name, value in stored.items() if name not in _AWAITED}


def _unconfirmed(settings: bytes) -> dict[str, Any]:
    return as_dict(msgspec.json.decode(settings)) if b'"unconfirmed"' in settings else {}


def _has_all(report: dict[str, Any], changes: dict[str, Any]) -> bool:
    # Codex reports the profile of permissions under another name.
    profile = as_dict(report.get("activePermissionProfile")).get("id")
    return all(
        profile == value if name == "permissions" else _agrees(report.get(name), value)
        for name, value in changes.items()
    )


def _agrees(reported: Any, given: Any) -> bool:
    """Returns whether a value is the one that was given. Codex fills in what was left out."""
    if isinstance(reported, dict) and isinstance(given, dict):
        members = as_dict(given).items()
        return all(_agrees(as_dict(reported).get(name), value) for name, value in members)
    return given is None or bool(reported == given)
