"""Exceptions become error objects: every reason has a code, and no internal text is sent to a
client.
"""

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.codex.appserver.errors import (
    ProviderError,
    ProviderExited,
    ProviderFailure,
    ProviderOverloaded,
    ProviderTimeout,
)
from trimpoint.codex.appserver.supervisor import ProviderUnavailable
from trimpoint.core.model.decision import BusyReason
from trimpoint.gateway.session.requests.errors import DEFAULT_HINTS, Refusal, as_wire_error
from trimpoint.operations.runner import SessionRestarting
from trimpoint.threads.errors import (
    CommandIdConflict,
    CommandRefused,
    JournalRefuses,
    ReplacementDelayed,
    ThreadError,
    ThreadNotFound,
)
from trimpoint_protocol.errors import ERROR_KINDS, Reason

SECRET = "/home/somebody/secret"
# Handshake mistakes share Codex's own code, which clients match on.
SHARED_CODE = -32600


def on_the_wire(error: Exception) -> dict[str, Any]:
    error_object: dict[str, Any] = msgspec.json.decode(as_wire_error(error).encode())
    return error_object


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_code_and_says_whether_to_try_again(reason: Reason) -> None:
    error = on_the_wire(Refusal(reason, "A sentence."))
    assert error["code"] == ERROR_KINDS[reason].code
    assert -32768 <= error["code"] <= -32000
    assert error["message"] == "A sentence."
    assert error["data"]["reason"] == reason
    assert error["data"]["retryable"] is ERROR_KINDS[reason].retryable
    assert error["data"].keys() == {"reason", "retryable", "hint"}


def test_no_two_reasons_share_a_code_except_those_that_are_codexs_own() -> None:
    codes = [kind.code for kind in ERROR_KINDS.values() if kind.code != SHARED_CODE]
    assert len(codes) == len(set(codes))
    assert ERROR_KINDS.keys() == set(Reason)


@pytest.mark.parametrize("reason", DEFAULT_HINTS)
def test_a_hint_is_given_where_none_was(reason: Reason) -> None:
    assert on_the_wire(Refusal(reason, "No."))["data"]["hint"] == DEFAULT_HINTS[reason]
    assert on_the_wire(Refusal(reason, "No.", "Do this."))["data"]["hint"] == "Do this."


def test_an_error_of_codex_is_passed_on_as_it_came() -> None:
    raw = b'{"message": "thread not found: x", "code": -32600, "data": {"input_error_code":"y"}, "future": [1e3]}'
    error = ProviderError(-32600, "thread not found: x", None, Raw(raw))
    assert as_wire_error(error).encode() == raw


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ThreadNotFound("t"), Reason.THREAD_NOT_FOUND),
        (CommandIdConflict("c"), Reason.COMMAND_ID_CONFLICT),
        (JournalRefuses("disk full"), Reason.JOURNAL_READ_ONLY),
        (ReplacementDelayed("t", "disk full"), Reason.JOURNAL_READ_ONLY),
        (SessionRestarting("clear", 3.0), Reason.SESSION_RESTARTING),
        (CommandRefused(Reason.NOTHING_TO_TRIM, "Nothing."), Reason.NOTHING_TO_TRIM),
        (ProviderTimeout("turn/start", 60.0), Reason.PROVIDER_TIMEOUT),
        (ProviderExited("it was killed", ""), Reason.PROVIDER_UNAVAILABLE),
        (ProviderOverloaded(10, 5), Reason.OVERLOADED),
        (ProviderUnavailable("not installed", "Install it."), Reason.PROVIDER_UNAVAILABLE),
        (ProviderFailure("some new kind"), Reason.PROVIDER_UNAVAILABLE),
    ],
)
def test_every_failure_has_its_reason_a_sentence_and_a_hint(
    error: Exception, reason: Reason
) -> None:
    said = on_the_wire(error)
    assert (said["data"]["reason"], said["code"]) == (reason, ERROR_KINDS[reason].code)
    assert said["message"] == str(error)
    if reason is not Reason.NOTHING_TO_TRIM:
        assert said["data"]["hint"]


def test_a_busy_thread_says_with_what_and_since_when() -> None:
    block = BusyReason("request", "q", 1_764_000_000_000, "item/tool/call")
    said = on_the_wire(CommandRefused(Reason.REQUEST_PENDING, "The agent waits.", block))
    assert said["data"]["blocker"] == {
        "kind": "request",
        "id": "q",
        "since": "2025-11-24T16:00:00.000Z",
        "detail": "item/tool/call",
    }


def test_a_thread_whose_sub_agent_works_is_told_to_wait_and_not_to_answer() -> None:
    block = BusyReason("request", "q", 1_764_000_000_000, "subAgent")
    said = on_the_wire(CommandRefused(Reason.REQUEST_PENDING, "A sub-agent is at work.", block))
    assert said["data"]["hint"] == "Wait until the sub-agent has ended."


@pytest.mark.parametrize(
    "error",
    [ValueError(SECRET), KeyError(SECRET), OSError(13, "denied", SECRET), RuntimeError(SECRET)],
)
def test_an_unexpected_exception_is_answered_with_an_error_id_and_without_its_text(
    error: Exception,
) -> None:
    with capture_logs() as logs:
        said = on_the_wire(error)
    assert SECRET not in str(said)
    assert said["data"]["reason"] == "internal"
    assert [(log["error_id"], log["exc_info"]) for log in logs] == [
        (said["data"]["errorId"], error)
    ]


def test_each_internal_error_has_an_id_of_its_own() -> None:
    with capture_logs():
        ids = {on_the_wire(RuntimeError())["data"]["errorId"] for _ in range(20)}
    assert len(ids) == 20


def test_wrong_parameters_are_refused_with_their_place() -> None:
    class Shape(msgspec.Struct):
        limit: int

    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert({"limit": "many"}, Shape)
    said = on_the_wire(caught.value)
    assert said["data"]["reason"] == "invalid_params"
    assert "limit" in said["message"]


def test_a_thread_error_without_a_reason_is_internal() -> None:
    assert on_the_wire(ThreadError("A sentence."))["data"]["reason"] == "internal"
