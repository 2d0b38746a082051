"""Translates the end of a turn to the answer to its prompt."""

from typing import Any, NamedTuple

from trimpoint_protocol.lenient import Json, as_dict, as_text, words_of_error

from trimpoint.acp.wire.answers import StopReason

INTERNAL_ERROR, AUTH_REQUIRED = -32603, -32000

FULL = (
    "The context is full. Type /clear 3 to keep the last three turns, "
    "or /compact to continue with a summary."
)
UNSAID = "The turn has failed, and Codex does not say why."
NOT_LOGGED_IN = "Codex is not logged in. Log in, then send the prompt again."
_POLICY = frozenset({"cyberPolicy", "misalignmentPolicyViolation"})


class Ended(NamedTuple):
    """The turn ended without an error. `said` is a text for the conversation, sent before the
    answer.
    """

    stop_reason: StopReason
    said: str = ""


class Failed(NamedTuple):
    """The turn failed: a JSON-RPC error whose `message` tells a person what to do."""

    code: int
    message: str
    reason: str


def ending_of(turn: Json, *, is_cancelled: bool) -> Ended | Failed:
    """Translates the turn of `turn/completed`. `is_cancelled`: the editor has cancelled the
    prompt.
    """
    if is_cancelled:
        return Ended("cancelled")
    error = as_dict(turn.get("error"))
    match turn.get("status"):
        case "failed":
            return _failure(error)
        case "interrupted":
            why = as_text(error.get("message"))
            return Ended(
                "cancelled", why or "The turn was interrupted by another client, or by Codex."
            )
        case _:
            return Ended("end_turn")


def _failure(error: Json) -> Ended | Failed:
    kind = error_kind(error.get("codexErrorInfo"))
    message = (
        words_of_error(as_text(error.get("message")))
        or "The turn has failed, and Codex does not say why."
    )
    if kind in _POLICY:
        return Ended("refusal", message)
    if kind == "contextWindowExceeded":
        return Failed(INTERNAL_ERROR, FULL, kind)
    if kind == "unauthorized":
        return Failed(AUTH_REQUIRED, NOT_LOGGED_IN, kind)
    return Failed(INTERNAL_ERROR, message, kind)


def error_kind(info: Any) -> str:
    """Returns Codex's name for an error, "other" if there is none."""
    if isinstance(info, str):
        return info
    return next(iter(as_dict(info)), "other")
