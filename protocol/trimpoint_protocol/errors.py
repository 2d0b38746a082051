"""The table of all reasons for which trimpoint itself refuses requests, with their JSON-RPC codes
and whether a retry can succeed.

An error object is `{code, message, data: {reason, retryable, hint, blocker?, errorId?}}`
(docs/spec/clients.md). Errors of Codex are passed on unchanged and are not listed here.
"""

from enum import StrEnum
from typing import Literal, NamedTuple

import msgspec

from trimpoint_protocol.timestamps import Timestamp

__all__ = [
    "ERROR_KINDS",
    "Blocker",
    "BlockerKind",
    "ErrorData",
    "ErrorKind",
    "Reason",
]


class Reason(StrEnum):
    """Why a request was refused, for programs."""

    PARSE_ERROR = "parse_error"
    INVALID_REQUEST = "invalid_request"
    METHOD_NOT_FOUND = "method_not_found"
    INVALID_PARAMS = "invalid_params"
    INTERNAL = "internal"
    OVERLOADED = "overloaded"
    NOT_INITIALIZED = "not_initialized"
    ALREADY_INITIALIZED = "already_initialized"
    MESSAGE_TOO_LARGE = "message_too_large"
    THREAD_NOT_FOUND = "thread_not_found"
    THREAD_ARCHIVED = "thread_archived"
    TURN_IN_PROGRESS = "turn_in_progress"
    ALREADY_IN_PROGRESS = "already_in_progress"
    REQUEST_PENDING = "request_pending"
    NOTHING_TO_TRIM = "nothing_to_trim"
    NOT_ENOUGH_MESSAGES = "not_enough_messages"
    COMPACTION_FAILED = "compaction_failed"
    TURN_NOT_FOUND = "turn_not_found"
    NOTHING_TO_REVERT = "nothing_to_revert"
    CHECKPOINT_NOT_FOUND = "checkpoint_not_found"
    FILES_CHANGED = "files_changed"
    WORKTREE_FAILED = "worktree_failed"
    ENTRY_NOT_FOUND = "entry_not_found"
    ENTRY_PROTECTED = "entry_protected"
    ALREADY_DISCARDED = "already_discarded"
    BELOW_FLOOR = "below_floor"
    NOTHING_TO_UNDO = "nothing_to_undo"
    DOES_NOT_FIT = "does_not_fit"
    NOT_SMALLER = "not_smaller"
    SESSION_RESTARTING = "session_restarting"
    PROVIDER_UNAVAILABLE = "provider_unavailable"
    PROVIDER_TIMEOUT = "provider_timeout"
    COMMAND_ID_CONFLICT = "command_id_conflict"
    USAGE = "usage"
    REQUEST_EXPIRED = "request_expired"
    JOURNAL_READ_ONLY = "journal_read_only"
    NOT_SUPPORTED = "not_supported"
    CANCELLED = "cancelled"
    TOO_MANY_PROFILES = "too_many_profiles"
    SEARCH_UNAVAILABLE = "search_unavailable"
    FLEET_UNREACHABLE = "fleet_unreachable"
    HOST_OFFLINE = "host_offline"
    UNTRUSTED_CLIENT = "untrusted_client"


class ErrorKind(NamedTuple):
    """The JSON-RPC code of a reason, and whether the same request can succeed later without a
    change.
    """

    code: int
    retryable: bool


ERROR_KINDS: dict[Reason, ErrorKind] = {
    Reason.PARSE_ERROR: ErrorKind(-32700, False),
    Reason.INVALID_REQUEST: ErrorKind(-32600, False),
    Reason.METHOD_NOT_FOUND: ErrorKind(-32601, False),
    Reason.INVALID_PARAMS: ErrorKind(-32602, False),
    Reason.INTERNAL: ErrorKind(-32603, False),
    # Codex's own code for overload, which its clients already know how to retry.
    Reason.OVERLOADED: ErrorKind(-32001, True),
    # Codex answers both handshake mistakes with -32600; clients match on it.
    Reason.NOT_INITIALIZED: ErrorKind(-32600, False),
    Reason.ALREADY_INITIALIZED: ErrorKind(-32600, False),
    Reason.MESSAGE_TOO_LARGE: ErrorKind(-32010, False),
    Reason.THREAD_NOT_FOUND: ErrorKind(-32011, False),
    Reason.THREAD_ARCHIVED: ErrorKind(-32012, False),
    Reason.TURN_IN_PROGRESS: ErrorKind(-32013, True),
    Reason.ALREADY_IN_PROGRESS: ErrorKind(-32014, True),
    Reason.REQUEST_PENDING: ErrorKind(-32015, True),
    Reason.NOTHING_TO_TRIM: ErrorKind(-32016, False),
    Reason.NOT_ENOUGH_MESSAGES: ErrorKind(-32017, False),
    Reason.COMPACTION_FAILED: ErrorKind(-32018, True),
    Reason.SESSION_RESTARTING: ErrorKind(-32019, True),
    Reason.PROVIDER_UNAVAILABLE: ErrorKind(-32020, True),
    Reason.PROVIDER_TIMEOUT: ErrorKind(-32021, True),
    Reason.COMMAND_ID_CONFLICT: ErrorKind(-32022, False),
    Reason.USAGE: ErrorKind(-32023, False),
    Reason.REQUEST_EXPIRED: ErrorKind(-32024, False),
    Reason.JOURNAL_READ_ONLY: ErrorKind(-32025, True),
    Reason.NOT_SUPPORTED: ErrorKind(-32026, False),
    Reason.TURN_NOT_FOUND: ErrorKind(-32027, False),
    Reason.NOTHING_TO_REVERT: ErrorKind(-32028, False),
    Reason.CHECKPOINT_NOT_FOUND: ErrorKind(-32029, False),
    Reason.FILES_CHANGED: ErrorKind(-32030, True),
    Reason.WORKTREE_FAILED: ErrorKind(-32031, True),
    Reason.ENTRY_NOT_FOUND: ErrorKind(-32032, False),
    Reason.ENTRY_PROTECTED: ErrorKind(-32033, False),
    Reason.ALREADY_DISCARDED: ErrorKind(-32034, False),
    Reason.BELOW_FLOOR: ErrorKind(-32035, False),
    Reason.CANCELLED: ErrorKind(-32036, True),
    Reason.NOTHING_TO_UNDO: ErrorKind(-32037, False),
    Reason.DOES_NOT_FIT: ErrorKind(-32038, False),
    Reason.TOO_MANY_PROFILES: ErrorKind(-32039, True),
    Reason.NOT_SMALLER: ErrorKind(-32040, False),
    Reason.SEARCH_UNAVAILABLE: ErrorKind(-32041, True),
    Reason.FLEET_UNREACHABLE: ErrorKind(-32042, True),
    Reason.HOST_OFFLINE: ErrorKind(-32043, True),
    Reason.UNTRUSTED_CLIENT: ErrorKind(-32044, False),
}


BlockerKind = Literal["turn", "operation", "request"]


class Blocker(msgspec.Struct, frozen=True, rename="camel"):
    """What keeps a thread busy. `kind` is `turn`, `operation` or `request`; `since` is a time (RFC
    3339).
    """

    kind: BlockerKind
    id: str
    since: Timestamp
    detail: str = ""


class ErrorData(msgspec.Struct, frozen=True, rename="camel"):
    """The `data` member of an error object. `blocker`, `errorId` and `newThreadId` are absent when
    empty; `newThreadId` is the thread that continues an archived one.
    """

    reason: Reason
    retryable: bool = False
    hint: str = ""
    blocker: Blocker | msgspec.UnsetType = msgspec.UNSET
    error_id: str | msgspec.UnsetType = msgspec.UNSET
    new_thread_id: str | msgspec.UnsetType = msgspec.UNSET
