"""Builds the entry of a question that a person has answered. Codex lists no item for it, and does
not say of a command or an edit that a person was asked.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.model import events as ev

ASKED = "userInput"
"""The role of such an entry, and the type of its detail, which no item of Codex has."""

APPROVAL = "approval"
"""The member of an activity's detail that says that a person allowed it: no member of Codex."""

_SECRET = "••••"


def asked_and_answered(
    params: Mapping[str, Any], answers: Mapping[str, Sequence[str]]
) -> ev.EntryRecorded | None:
    """Returns the entry of a question of Codex (`item/tool/requestUserInput`), or None if it
    belongs to no turn. `answers` are by the id of their part of the question.

    The entry has the id of the model's call that asks, so that it leaves the context with it. What
    was typed in secret is not in it.
    """
    turn_id, call_id = params.get("turnId"), params.get("itemId")
    if not isinstance(turn_id, str) or not isinstance(call_id, str):
        return None
    parts = [
        {"question": str(one.get("question") or ""), "answer": _given(one, answers)}
        for one in map(as_dict, as_list(params.get("questions")))
    ]
    text = "\n".join(f"{part['question']} {part['answer'] or '(no answer)'}" for part in parts)
    detail = msgspec.json.encode({"type": ASKED, "id": call_id, "questions": parts})
    return ev.EntryRecorded(turn_id, call_id, "activity", ASKED, text, detail)


def _given(part: Mapping[str, Any], answers: Mapping[str, Sequence[str]]) -> str:
    given = ", ".join(answers.get(str(part.get("id")), ()))
    return _SECRET if given and part.get("isSecret") else given
