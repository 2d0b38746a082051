"""The rule that an answer to Codex writes is told as Codex keeps it."""

from typing import Any

import pytest
from trimpoint_protocol.lasting_rules import lasting_rule

COMMAND = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["rm\u202e", 'a"b']}}
HOST = {
    "applyNetworkPolicyAmendment": {"network_policy_amendment": {"action": "deny", "host": "h"}}
}


@pytest.mark.parametrize(
    ("decision", "rule"),
    [
        (COMMAND, 'prefix_rule(pattern=["rm⟨U+202E⟩", "a\\"b"], decision="allow")'),
        (HOST, 'network_rule(host="h", decision="deny")'),
        ("accept", ""),
        ("acceptForSession", ""),
        ({"acceptWithExecpolicyAmendment": None}, ""),
    ],
)
def test_a_decision_has_the_rule_that_it_writes(decision: Any, rule: str) -> None:
    assert lasting_rule(decision) == rule
