"""What the agent asks a face, and what becomes of what a face sends."""

from enum import StrEnum
from typing import Any

from trimpoint_protocol.shapes.slash_commands import CommandOutcome

RULE = {"acceptWithExecpolicyAmendment": {"execpolicy_amendment": ["echo", "one"]}}
ASKED: dict[str, Any] = {
    "threadId": "t", "command": "echo one", "cwd": "/work/shop", "reason": "to see it",
    "availableDecisions": ["accept", RULE, "cancel"],
}  # fmt: skip


UNKNOWN = CommandOutcome(
    handled=True, command="claer", status="failed", reason="usage",
    message="There is no command /claer. Do you mean /clear?",
    said="There is no command /claer. Do you mean /clear?",
)  # fmt: skip
REFUSAL = "The thread is archived."


class Outcome(StrEnum):
    """What becomes of a prompt or a command that is sent."""

    TAKEN = "taken"
    REFUSED = "refused"
    LOST = "lost with the connection"
    UNANSWERED = "not answered"
    UNKNOWN = "not known as a command"
