"""Codex's notifications are translated into facts, with parameters as Codex 0.163 and 0.171 send
them.
"""

from typing import Any

import pytest
from trimpoint.codex.history.rollout import NO_ITEMS
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import translate
from trimpoint.core.model import events as ev
from trimpoint.operations.history.adoption import turn_facts
from trimpoint.operations.provider.settings import (
    awaits_report,
    is_confirmed,
    update_params,
    with_unconfirmed,
)

OVERFLOW = "Codex ran out of room in the model's context window. Start a new thread or clear earlier history before retrying."
RAW_BODY = '{"error":{"message":"Too long.","type":"invalid_request_error","code":"context_length_exceeded"}}'


def heard(method: str, **params: Any) -> ev.AnyEvent:
    """Returns the one fact in a notification."""
    [fact] = translate(CodexMessage.compose(method, {"threadId": "T", **params}), 1, b"{}")
    return fact


def counts(
    total: int, spent: int = 0, cached: int = 0, said: int = 0, thought: int = 0
) -> dict[str, int]:
    return {
        "totalTokens": total, "inputTokens": spent, "cachedInputTokens": cached, "cacheWriteInputTokens": 0,
        "outputTokens": said, "reasoningOutputTokens": thought,
    }  # fmt: skip


def test_usage_tells_what_the_last_model_call_took_part_by_part() -> None:
    usage = {
        "total": counts(30_200, 29_900, 15_000, 300),
        "last": counts(15_100, 15_000, 9_000, 100, 60),
        "modelContextWindow": 258_400,
    }
    fact = heard("thread/tokenUsage/updated", turnId="t", tokenUsage=usage)
    assert fact == ev.UsageReported("t", 15_100, 30_200, 258_400, 15_000, 9_000, 100, 60)


def test_usage_that_is_only_an_estimate_has_no_parts() -> None:
    usage = {"total": counts(30_200, 29_900), "last": counts(4_321), "modelContextWindow": None}
    fact = heard("thread/tokenUsage/updated", turnId="t", tokenUsage=usage)
    assert fact == ev.UsageReported("t", 4_321, 30_200, None, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("image", "shown"),
    [
        ({"type": "image", "url": "https://example.com/a.png"}, "https://example.com/a.png"),
        ({"type": "image", "url": "data:image/png;base64,AAAA"}, "data:image/png;base64"),
        ({"type": "localImage", "path": "/a,b.png"}, "/a,b.png"),
    ],
)
def test_the_text_of_a_prompt_names_an_image_without_its_data(
    image: dict[str, Any], shown: str
) -> None:
    item = {"type": "userMessage", "id": "i", "content": [image, {"type": "text", "text": "look"}]}
    fact = heard("item/completed", turnId="t", item=item)
    assert isinstance(fact, ev.EntryRecorded)
    assert fact.text == f"[{image['type']}: {shown}]\nlook"


ERRORS = pytest.mark.parametrize(
    ("info", "message", "kind"),
    [
        ("contextWindowExceeded", OVERFLOW, "contextWindowExceeded"),
        ("other", "stream disconnected before completion", "other"),
        ("other", RAW_BODY, "contextWindowExceeded"),
        (
            {"httpConnectionFailed": {"httpStatusCode": 401}},
            "unexpected status 401",
            "httpConnectionFailed",
        ),
        ({}, "of a kind yet to be invented", ""),
        (None, "no kind at all", ""),
    ],
)


def failed_turn(info: Any, message: str) -> dict[str, Any]:
    error = {"message": message, "codexErrorInfo": info, "additionalDetails": None}
    return {"id": "t", "items": [], "status": "failed", "error": error}


@ERRORS
def test_a_failed_turn_says_of_which_kind_its_error_is(info: Any, message: str, kind: str) -> None:
    assert heard("turn/completed", turn=failed_turn(info, message)) == ev.TurnCompleted(
        "t", "failed", message, True, kind
    )


@ERRORS
def test_a_failed_turn_that_is_read_back_has_its_kind_of_error(
    info: Any, message: str, kind: str
) -> None:
    *_, ended = turn_facts(failed_turn(info, message), 1, NO_ITEMS)
    assert ended == ev.TurnCompleted("t", "failed", message, False, kind)


def test_a_turn_without_error_has_no_kind_of_error() -> None:
    turn: dict[str, Any] = {"id": "t", "items": [], "status": "completed", "error": None}
    assert heard("turn/completed", turn=turn) == ev.TurnCompleted("t", "completed")
    *_, ended = turn_facts(turn, 1, NO_ITEMS)
    assert ended == ev.TurnCompleted("t", "completed", items_heard=False)


def settings_after(settings: bytes, *methods: str) -> bytes:
    """The settings once Codex has said these, in this order."""
    params = {"threadSettings": {"effort": "high"}, "turn": {"id": "t"}}
    for method in methods:
        message = CodexMessage.compose(method, {"threadId": "p", **params})
        for fact in translate(message, 1, settings):
            settings = fact.settings if isinstance(fact, ev.SettingsChanged) else settings
    return settings


REPORTED, STARTED, COMPLETED = "thread/settings/updated", "turn/started", "turn/completed"


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        ((REPORTED,), False),
        ((REPORTED, COMPLETED), False),  # of a turn that began before
        ((REPORTED, STARTED), False),
        ((REPORTED, STARTED, COMPLETED), True),
        ((STARTED, REPORTED, COMPLETED), True),
    ],
)
def test_settings_are_confirmed_once_a_whole_turn_has_run_with_them(
    methods: tuple[str, ...], expected: bool
) -> None:
    acknowledged = with_unconfirmed(b"{}", {"effort": "high"})
    settings = settings_after(acknowledged, *methods)
    assert is_confirmed(settings) is expected
    assert update_params(settings) == {"effort": "high"}


def test_settings_that_change_in_a_turn_are_not_confirmed_by_its_end() -> None:
    begun = settings_after(with_unconfirmed(b"{}", {"effort": "low"}), STARTED)
    changed = with_unconfirmed(begun, {"effort": "high"})
    assert not is_confirmed(settings_after(changed, COMPLETED))


def reported(settings: bytes, **members: Any) -> bytes:
    """The settings once Codex has reported `members`."""
    message = CodexMessage.compose(REPORTED, {"threadId": "p", "threadSettings": members})
    [fact] = translate(message, 1, settings)
    assert isinstance(fact, ev.SettingsChanged)
    return fact.settings


def test_a_report_of_an_earlier_change_keeps_what_was_acknowledged_since() -> None:
    first = with_unconfirmed(b"{}", {"effort": "low"})
    second = with_unconfirmed(first, {"model": "gpt-5-codex"})
    settings = reported(second, effort="low", model="gpt-5", summary="none")
    assert update_params(settings) == {"effort": "low", "model": "gpt-5-codex"}
    settings = reported(settings, effort="low", model="gpt-5-codex", summary="none")
    assert update_params(settings) == {"effort": "low", "model": "gpt-5-codex", "summary": "none"}
    assert not awaits_report(settings)
    settings = reported(settings, effort="high", model="gpt-5")  # the overrides of a turn
    assert update_params(settings) == {"effort": "high", "model": "gpt-5"}


def test_the_newest_acknowledged_change_of_a_setting_is_awaited() -> None:
    settings = with_unconfirmed(with_unconfirmed(b"{}", {"effort": "low"}), {"effort": "high"})
    settings = reported(settings, effort="low")
    settings = with_unconfirmed(settings, {})  # given to another provider thread
    assert update_params(settings) == {"effort": "high"}
    assert update_params(reported(settings, effort="low")) == {"effort": "high"}
    assert not awaits_report(reported(settings, effort="high"))


def test_permissions_are_reported_under_another_name() -> None:
    settings = with_unconfirmed(b"{}", {"permissions": ":read-only"})
    earlier = reported(settings, activePermissionProfile={"id": ":workspace"})
    assert awaits_report(earlier)
    profile = {"id": ":read-only", "extends": None}
    assert not awaits_report(reported(settings, activePermissionProfile=profile))


def test_a_report_agrees_with_what_was_given_when_codex_fills_in_the_rest() -> None:
    given = {"sandboxPolicy": {"type": "workspaceWrite"}, "personality": "friendly"}
    settings = with_unconfirmed(b"{}", given)
    full: dict[str, Any] = {"sandboxPolicy": {"type": "workspaceWrite", "networkAccess": False}}
    assert awaits_report(reported(settings, **full))
    assert not awaits_report(reported(settings, **full, personality="friendly"))


def test_a_whole_turn_ends_the_wait_for_a_report_that_agrees() -> None:
    settings = reported(with_unconfirmed(b"{}", {"cwd": "/a/../b"}), cwd="/b")
    assert update_params(settings) == {"cwd": "/a/../b"}
    settings = settings_after(settings, STARTED, COMPLETED)
    assert update_params(settings) == {"cwd": "/b"}
    assert is_confirmed(settings)
    assert not awaits_report(settings)
