"""The question how many turns a `/clear` without a number keeps."""

import re

from trimpoint_protocol.hidden_characters import visible
from trimpoint_protocol.lenient import Json, as_dicts, as_text

from trimpoint.acp.translate.permissions import Option, Permission
from trimpoint.acp.translate.status import shortened
from trimpoint.acp.wire.content import ToolCall

NOT_CLEARED: Json = {
    "handled": True, "command": "clear", "status": "skipped", "reason": "nothing_chosen",
    "message": "Nothing was cleared. /clear 3 keeps the last 3 turns, /clear 0 keeps none.",
}  # fmt: skip
"""The outcome of a `/clear` for which nothing was chosen."""
MOST_KEPT = 8
MAX_WORDS_CHARS = 60
_BARE = re.compile(r"[/:]clear", re.IGNORECASE)


def is_bare_clear(text: str) -> bool:
    """Returns whether `text` is a `/clear` that does not say what stays."""
    return _BARE.fullmatch(text.strip()) is not None


def clear_permission(turns: Json, call_id: str) -> Permission | None:
    """Returns the question as a permission, whose result is the number of turns that stay; None if
    there is nothing to choose. `turns` is the answer of `checkpoint/list`, `call_id` names
    the tool call that the question is about.
    """
    active = [
        as_text(one.get("prompt"))
        for one in reversed(as_dicts(turns.get("turns")))
        if one.get("number") and not one.get("trimmed")
    ]
    if len(active) < 2:
        return None
    options = [Option("Keep everything", "reject_once", {})]
    for count in range(1, min(len(active), MOST_KEPT + 1)):
        turns_kept = "the last turn" if count == 1 else f"the last {count} turns, from"
        prompt = " ".join(visible(active[count - 1]).split())
        words = f"Keep {turns_kept}: {shortened(prompt, MAX_WORDS_CHARS)}"
        options.append(Option(words, "allow_once", {"keep": count}))
    options.append(Option("Keep nothing", "allow_once", {"keep": 0}))
    title = "What stays in the agent's context?"
    call = ToolCall(tool_call_id=call_id, title=title, kind="other", status="pending")
    return Permission(call, options, {}, {})
