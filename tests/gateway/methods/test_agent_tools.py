"""Which agents get the agent tools, by the parameters of `thread/start` and the configuration."""

from typing import Any

import pytest
from trimpoint.gateway.commands.agent_tools import SPECIFICATIONS, with_agent_tools
from trimpoint.gateway.session.requests.errors import Refusal

OWN: dict[str, Any] = {"name": "lookup", "inputSchema": {}}
TAKEN: dict[str, Any] = {"name": "get_messages", "inputSchema": {}}
YES, NO = {"agentTools": True}, {"agentTools": False}


def started(by_default: bool = False, **params: Any) -> tuple[dict[str, Any], bool]:
    return with_agent_tools({"cwd": "/", **params}, by_default=by_default)


@pytest.mark.parametrize(("option", "by_default"), [(YES, False), (YES, True), (None, True)])
def test_tools_are_added_on_request_or_by_configuration(option: Any, by_default: bool) -> None:
    assert started(by_default, trimpoint=option) == (
        {"cwd": "/", "dynamicTools": [*SPECIFICATIONS]},
        True,
    )
    assert started(by_default, trimpoint=option, dynamicTools=[OWN]) == (
        {"cwd": "/", "dynamicTools": [OWN, *SPECIFICATIONS]},
        True,
    )


@pytest.mark.parametrize(
    ("option", "by_default"), [(NO, True), (NO, False), ({}, True), (None, False)]
)
def test_parameters_without_a_request_for_tools_stay_unchanged(
    option: Any, by_default: bool
) -> None:
    assert started(by_default, trimpoint=option, dynamicTools=[OWN]) == (
        {"cwd": "/", "dynamicTools": [OWN]},
        False,
    )
    assert started(by_default) == (
        {"cwd": "/"} | ({"dynamicTools": [*SPECIFICATIONS]} if by_default else {}),
        by_default,
    )


def test_a_name_that_is_taken_is_refused_to_who_asks_and_left_to_who_does_not() -> None:
    with pytest.raises(
        Refusal, match="dynamicTools has get_messages, as trimpoint's own tools are called"
    ):
        started(trimpoint=YES, dynamicTools=[OWN, TAKEN])
    assert started(True, dynamicTools=[TAKEN]) == ({"cwd": "/", "dynamicTools": [TAKEN]}, False)


@pytest.mark.parametrize(
    "option",
    [
        "yes",
        True,
        [],
        {"agentTools": 1},
        {"agentTools": None},
        {"agenttools": True},
        {**YES, "more": 1},
    ],
)
def test_an_option_that_is_not_right_is_refused(option: Any) -> None:
    with pytest.raises(Refusal, match=r"is \{agentTools: true\} or \{agentTools: false\}"):
        started(trimpoint=option)
