"""The rules that an answer to Codex writes, which hold until a person removes them: a face shows
the rule and asks once more before it sends such an answer.
"""

import json
from typing import Any

from trimpoint_protocol.hidden_characters import whole
from trimpoint_protocol.lenient import as_dict, as_list

__all__ = ["RULE_WORDS", "TOOL_RULE", "lasting_rule"]

RULE_WORDS = "From now on, in every thread and folder, Codex has this rule:"
TOOL_RULE = "in Codex's configuration: this tool runs without asking, in every thread"
"""What the answer "always" to the question of an MCP tool writes."""


def lasting_rule(decision: Any) -> str:
    """Returns the rule that a decision writes; empty if the decision writes none."""
    found = as_dict(decision)
    rule = as_dict(found.get("acceptWithExecpolicyAmendment")).get("execpolicy_amendment")
    if words := as_list(rule):
        pattern = ", ".join(json.dumps(str(word), ensure_ascii=False) for word in words)
        return whole(f'prefix_rule(pattern=[{pattern}], decision="allow")')
    change = as_dict(found.get("applyNetworkPolicyAmendment")).get("network_policy_amendment")
    host, action = as_dict(change).get("host"), as_dict(change).get("action")
    if host is None:
        return ""
    return whole(f"network_rule(host={json.dumps(str(host))}, decision={json.dumps(action)})")
