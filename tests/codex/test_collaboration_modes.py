"""Settings that Codex acknowledged, with the collaboration mode that contains two of them."""

from typing import Any

import msgspec
import pytest
from trimpoint.operations.provider.settings import missing_params, update_params, with_unconfirmed


def mode(effort: str | None, *, name: str = "plan", model: str = "gpt-5") -> dict[str, Any]:
    within = {"model": model, "reasoning_effort": effort, "developer_instructions": None}
    return {"mode": name, "settings": within}


def settings(**current: Any) -> bytes:
    return msgspec.json.encode({"start": {}, "current": current})


def answer(effort: str | None, of_mode: dict[str, Any], model: str = "gpt-5") -> dict[str, Any]:
    return {"model": model, "reasoningEffort": effort, "collaborationMode": of_mode}


REPORTED = settings(model="gpt-5", effort="low", collaborationMode=mode("low"))


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (
            {"effort": "high"},
            {"model": "gpt-5", "effort": "high", "collaborationMode": mode("high")},
        ),
        (
            {"model": "gpt-5.1"},
            {
                "model": "gpt-5.1",
                "effort": "low",
                "collaborationMode": mode("low", model="gpt-5.1"),
            },
        ),
        (
            {"effort": "low", "collaborationMode": mode("high", model="gpt-5.1")},
            {
                "model": "gpt-5.1",
                "effort": "high",
                "collaborationMode": mode("high", model="gpt-5.1"),
            },
        ),
        (
            {"collaborationMode": mode(None)},
            {"model": "gpt-5", "collaborationMode": mode(None)},
        ),
        (
            # The default mode is not set again, but what was set with it is.
            {"collaborationMode": mode("high", name="default")},
            {"model": "gpt-5", "effort": "high"},
        ),
        (
            {"summary": "detailed"},
            {
                "model": "gpt-5",
                "effort": "low",
                "summary": "detailed",
                "collaborationMode": mode("low"),
            },
        ),
    ],
)
def test_the_mode_and_what_it_contains_agree_once_either_was_acknowledged(
    changes: dict[str, Any], expected: dict[str, Any]
) -> None:
    assert update_params(with_unconfirmed(REPORTED, changes)) == expected


def test_a_setting_is_acknowledged_before_any_mode_was_reported() -> None:
    assert update_params(with_unconfirmed(settings(), {"effort": "high"})) == {"effort": "high"}


ACKNOWLEDGED = with_unconfirmed(REPORTED, {"effort": "high"})


def test_nothing_is_missing_once_codex_has_stored_what_it_acknowledged() -> None:
    assert missing_params(ACKNOWLEDGED, answer("high", mode("high"))) == {}


def test_a_lost_effort_is_set_without_the_mode_that_contains_it() -> None:
    assert missing_params(ACKNOWLEDGED, answer("low", mode("low"))) == {"effort": "high"}


def test_a_lost_mode_is_set() -> None:
    planned = with_unconfirmed(REPORTED, {"collaborationMode": mode("low", name="other")})
    missing = missing_params(planned, answer("low", mode("low")))
    assert missing == {"collaborationMode": mode("low", name="other")}


def test_a_lost_absence_of_an_effort_is_set_by_the_mode() -> None:
    without = with_unconfirmed(REPORTED, {"collaborationMode": mode(None)})
    missing = missing_params(without, answer("low", mode("low")))
    assert missing == {"collaborationMode": mode(None)}
