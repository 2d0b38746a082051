"""Raw items as the model sees them."""

from typing import Any

import msgspec


def raw_message(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def text_of(item: dict[str, Any]) -> str:
    return "".join(str(one.get("text", "")) for one in item.get("content", ()))


def compacted_file(turn_id: str, summary: str) -> list[bytes]:
    """Returns the lines of the file of a compacted fork."""
    message = raw_message("assistant", summary)
    return [
        msgspec.json.encode({"type": kind, "payload": payload})
        for kind, payload in (
            ("event_msg", {"type": "task_started", "turn_id": turn_id}),
            ("response_item", message),
            ("compacted", {"message": summary}),
        )
    ]
