"""Errors as RFC 9457 problem details, with the members `reason`, `hint`, `retryable` and `blocker`
of JSON-RPC errors.

`status_of` is the only table from reasons to HTTP statuses.
"""

from enum import StrEnum
from http import HTTPStatus
from typing import Any

import msgspec
from trimpoint_protocol.errors import ErrorData, Reason

from trimpoint.gateway.session.requests.errors import WireError
from trimpoint.http.exchange import Response

PROBLEM_JSON = "application/problem+json"
NO_TOKEN = "The request has no token."


class HttpReason(StrEnum):
    """The reasons for which HTTP refuses a request before a method is called."""

    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    WRONG_HOST = "wrong_host"
    FOREIGN_ORIGIN = "foreign_origin"
    FOREIGN_SITE = "foreign_site"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    BODY_TOO_LARGE = "body_too_large"
    BODY_NOT_JSON = "body_not_json"
    UPGRADE_REFUSED = "upgrade_refused"


_STATUSES: dict[str, int] = {
    HttpReason.BAD_REQUEST: 400,
    HttpReason.UNAUTHORIZED: 401,
    HttpReason.WRONG_HOST: 421,
    HttpReason.FOREIGN_ORIGIN: 403,
    HttpReason.FOREIGN_SITE: 403,
    HttpReason.NOT_FOUND: 404,
    HttpReason.METHOD_NOT_ALLOWED: 405,
    HttpReason.BODY_TOO_LARGE: 413,
    HttpReason.BODY_NOT_JSON: 415,
    HttpReason.UPGRADE_REFUSED: 400,
    Reason.PARSE_ERROR: 400,
    Reason.INVALID_REQUEST: 400,
    Reason.METHOD_NOT_FOUND: 404,
    Reason.INVALID_PARAMS: 400,
    Reason.INTERNAL: 500,
    Reason.OVERLOADED: 429,
    Reason.NOT_INITIALIZED: 400,
    Reason.ALREADY_INITIALIZED: 400,
    Reason.MESSAGE_TOO_LARGE: 413,
    Reason.THREAD_NOT_FOUND: 404,
    Reason.COMPACTION_FAILED: 502,
    Reason.TURN_NOT_FOUND: 404,
    Reason.CHECKPOINT_NOT_FOUND: 404,
    Reason.WORKTREE_FAILED: 500,
    Reason.ENTRY_NOT_FOUND: 404,
    Reason.SESSION_RESTARTING: 503,
    Reason.PROVIDER_UNAVAILABLE: 503,
    Reason.PROVIDER_TIMEOUT: 504,
    Reason.USAGE: 400,
    Reason.JOURNAL_READ_ONLY: 503,
    Reason.NOT_SUPPORTED: 501,
    Reason.UNTRUSTED_CLIENT: 403,
}
_CONFLICT = 409  # the state of the thread does not allow it: every reason that is not above


def status_of(reason: str) -> int:
    """Returns the HTTP status for a reason."""
    return _STATUSES.get(reason, _CONFLICT)


class Problem(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    """Problem details (RFC 9457). `reason` is stable; `detail` is a sentence for a person."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    reason: str
    hint: str = ""
    retryable: bool = False
    code: int | None = None
    blocker: Any = None
    error_id: str | None = None


def problem(reason: HttpReason, detail: str, hint: str = "") -> Problem:
    """Returns the problem details of an error of HTTP itself."""
    status = status_of(reason)
    return Problem(title=_title(status), status=status, detail=detail, reason=reason, hint=hint)


def problem_of(error: WireError) -> Problem:
    """Returns a method's error as problem details. Codex's own errors have a code and no reason."""
    data = error.data or ErrorData(Reason.PROVIDER_UNAVAILABLE)
    status = status_of(data.reason)
    return Problem(
        title=_title(status),
        status=status,
        detail=error.message,
        reason=data.reason,
        hint=data.hint,
        retryable=data.retryable,
        code=error.code,
        blocker=None if data.blocker is msgspec.UNSET else data.blocker,
        error_id=None if data.error_id is msgspec.UNSET else data.error_id,
    )


def as_response(details: Problem, *headers: tuple[str, str]) -> Response:
    """Returns problem details as a response."""
    return Response(details.status, msgspec.json.encode(details), PROBLEM_JSON, headers)


def _title(status: int) -> str:
    return HTTPStatus(status).phrase
