"""Shows messages of trimpoint in a transcript, outside of any turn. They reach neither the model
nor the ledger.
"""

import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import msgspec

from trimpoint.gateway.session.clients import Client, Delivery
from trimpoint.threads.ids import new_uuid7


def send_lone_message(clients: Iterable[Client], thread_id: str, text: str) -> None:
    """Sends some clients a message that does not belong to a turn."""
    method = "item/completed"
    now_ms = round(time.time() * 1000)
    params = {
        "threadId": thread_id,
        "turnId": new_uuid7(),
        "item": agent_message(text),
        "completedAtMs": now_ms,
    }
    Delivery(method, partial(msgspec.json.encode, {"method": method, "params": params})).to(clients)


def agent_message(text: str) -> dict[str, Any]:
    """Returns an `agentMessage` item with this text."""
    unknown = {"phase": None, "memoryCitation": None, "delivery": None, "questions": None}
    return {"type": "agentMessage", "id": new_uuid7(), "text": text, **unknown}
