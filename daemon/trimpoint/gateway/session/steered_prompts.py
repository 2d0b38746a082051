"""Gives a prompt that was added to a running turn the receipt that a queued prompt has, as soon as
the agent has read it: a client that was killed before it knew may send it again, and it is taken
once.

There is no receipt before that. Codex drops what it has accepted and not read when the turn is
interrupted, and then the prompt must be sent again.
"""

from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

from trimpoint_protocol.commands import QueuePrompt
from trimpoint_protocol.lenient import as_list

from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.core.model.commands import PromptTaken
from trimpoint.threads.errors import CommandIdConflict, JournalRefuses
from trimpoint.threads.registry import ThreadRegistry

_PROMPT = b'"userMessage"'


class SteeredPrompts:
    """The prompts that were sent into the running turn of each thread, by the ids that clients gave
    them.
    """

    def __init__(self, registry: ThreadRegistry) -> None:
        self._registry = registry
        self._sent: dict[str, dict[str, QueuePrompt]] = {}

    @contextmanager
    def sending(self, thread_id: str, params: dict[str, Any]) -> Generator[None]:
        """Keeps the prompt of a `turn/steer` from before it is sent, and not if Codex refuses."""
        prompt = _prompt_in(thread_id, params)
        if prompt is not None:
            self._sent.setdefault(thread_id, {})[prompt.command_id] = prompt
        try:
            yield
        except BaseException:
            if prompt is not None:
                self._sent.get(thread_id, {}).pop(prompt.command_id, None)
            raise

    def note(self, thread_id: str, message: CodexMessage) -> None:
        """Records the receipt of a prompt that Codex reports as read, and forgets those of a turn
        that has ended.
        """
        if message.method == "turn/completed":
            self._sent.pop(thread_id, None)
        elif message.method == "item/completed" and _PROMPT in message.line:
            sent = self._sent.get(thread_id, {})
            prompt = sent.pop(str(message.object("item").get("clientId")), None)
            writer = self._registry.loaded(thread_id)
            if prompt is not None and writer is not None:
                with suppress(JournalRefuses, CommandIdConflict):
                    writer.submit(PromptTaken(prompt))


def _prompt_in(thread_id: str, params: dict[str, Any]) -> QueuePrompt | None:
    """Returns the command that would queue the prompt instead, or None if it has no id."""
    name, given = params.get("clientUserMessageId"), as_list(params.get("input"))
    if not isinstance(name, str) or not name or not given:
        return None
    return QueuePrompt(
        command_id=name, thread_id=thread_id, input=given, client_user_message_id=name
    )
