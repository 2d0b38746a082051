"""Turns exceptions into the error objects that clients receive; no other module does.

An exception of an unknown type becomes the reason `internal` with an `errorId`. Its traceback is in
the log under that id, and its text is never sent to a client.
"""

import msgspec
import structlog
from trimpoint_protocol.errors import ERROR_KINDS, ErrorData, Reason

from trimpoint.codex.appserver.errors import (
    ProviderError,
    ProviderFailure,
    ProviderOverloaded,
    ProviderTimeout,
)
from trimpoint.codex.appserver.supervisor import ProviderUnavailable
from trimpoint.core.model.decision import SUB_AGENT, BusyReason
from trimpoint.core.model.spelling import Spelling, hint_text
from trimpoint.core.views.view import blocker
from trimpoint.git.errors import GitError
from trimpoint.threads.errors import CommandRefused, ThreadError
from trimpoint.threads.ids import new_uuid7

log = structlog.get_logger()

DEFAULT_HINTS = {
    Reason.CHECKPOINT_NOT_FOUND: "trimpoint checkpoints lists those that there are.",
    Reason.ENTRY_NOT_FOUND: "trimpoint search finds the entries that there are.",
    Reason.SEARCH_UNAVAILABLE: "trimpoint timeline shows the conversation without it.",
    Reason.FLEET_UNREACHABLE: "Threads of this machine need no hub. trimpoint doctor looks at it.",
    Reason.TURN_IN_PROGRESS: "Wait until the turn has ended, or interrupt it first.",
    Reason.ALREADY_IN_PROGRESS: "Wait until it has ended.",
    Reason.REQUEST_PENDING: "Answer the agent's question first.",
    Reason.THREAD_ARCHIVED: "Unarchive the thread with thread/unarchive.",
}


def _hint_of(block: BusyReason | None) -> str:
    """Returns the hint where what keeps the thread busy needs another than its reason has."""
    is_sub_agent = block is not None and block.detail == SUB_AGENT
    return "Wait until the sub-agent has ended." if is_sub_agent else ""


class Refusal(Exception):
    """Raised when a rule of the gateway refuses a request. `new_thread_id` is the thread that
    continues an archived one.
    """

    def __init__(
        self, reason: Reason, message: str, hint: str = "", *, new_thread_id: str | None = None
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.hint = hint
        self.new_thread_id = new_thread_id


class WireError(msgspec.Struct, frozen=True):
    """An error object. If `raw` is not empty, it is an error object of Codex, which is passed on
    unchanged.
    """

    code: int
    message: str
    data: ErrorData | None = None
    raw: bytes = b""

    def encode(self) -> bytes:
        """Returns the error object as JSON."""
        return self.raw or msgspec.json.encode(_ErrorObject(self.code, self.message, self.data))


class _ErrorObject(msgspec.Struct, omit_defaults=True):
    code: int
    message: str
    data: ErrorData | None = None


def wire_error(reason: Reason, message: str, hint: str = "", **facts: object) -> WireError:
    """Returns an error object for one of trimpoint's own reasons; `facts` are further members of
    `ErrorData`.
    """
    kind = ERROR_KINDS[reason]
    hint = hint or DEFAULT_HINTS.get(reason, "")
    data = ErrorData(reason, kind.retryable, hint, **facts)  # type: ignore[arg-type]
    return WireError(kind.code, message, data)


def not_steerable(reason: Reason, message: str, hint: str) -> WireError:
    """Returns the refusal in Codex's form for a turn that takes no input. Codex's terminal UI then
    keeps the text, and sends it when the turn has ended.
    """
    kind = ERROR_KINDS[reason]
    data = {
        "reason": reason,
        "retryable": kind.retryable,
        "hint": hint,
        "message": message,
        "codexErrorInfo": {"activeTurnNotSteerable": {"turnKind": "compact"}},
        "additionalDetails": None,
    }
    raw = msgspec.json.encode({"code": kind.code, "message": message, "data": data})
    return WireError(kind.code, message, raw=raw)


def as_wire_error(error: Exception) -> WireError:
    """Returns the error object that the client receives for the exception `error`."""
    match error:
        case ProviderError():
            return WireError(error.code, error.message, raw=bytes(error.raw))
        case CommandRefused(hints=[_, *_]):
            hint = hint_text(error.hints, Spelling.SLASH)
            return wire_error(error.reason, error.said, hint)
        case ThreadError():
            block = blocker(error.block) if error.block is not None else msgspec.UNSET
            hint = error.hint or _hint_of(error.block)
            return wire_error(error.reason, str(error), hint, blocker=block)
        case Refusal():
            successor = error.new_thread_id or msgspec.UNSET
            return wire_error(error.reason, error.message, error.hint, new_thread_id=successor)
        case GitError():
            return wire_error(Reason.WORKTREE_FAILED, str(error), error.hint)
        case ProviderTimeout():
            return wire_error(
                Reason.PROVIDER_TIMEOUT,
                str(error),
                "Codex may have acted on it; check before you repeat it.",
            )
        case ProviderOverloaded():
            return wire_error(Reason.OVERLOADED, str(error), "Try again in a moment.")
        case ProviderUnavailable():
            return wire_error(Reason.PROVIDER_UNAVAILABLE, str(error), error.hint)
        case ProviderFailure():
            return wire_error(
                Reason.PROVIDER_UNAVAILABLE,
                str(error),
                "The daemon restarts Codex; try again in a moment.",
            )
        case msgspec.ValidationError():
            return wire_error(Reason.INVALID_PARAMS, f"The parameters are invalid: {error}.")
        case _:
            return _internal(error)


def _internal(error: Exception) -> WireError:
    error_id = new_uuid7()
    log.error("internal_error", error_id=error_id, exc_info=error)
    return wire_error(
        Reason.INTERNAL,
        "Something went wrong inside trimpoint.",
        "The log has the details.",
        error_id=error_id,
    )
