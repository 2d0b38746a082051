"""Asks the model something about a conversation, on an ephemeral fork that no client sees."""

import anyio

from trimpoint.codex.notifications.watches import TurnOutcome
from trimpoint.operations.provider.provider_threads import ProviderThreads
from trimpoint.threads.writing.writer import ThreadWriter

_BRIEF = (
    "Write the first message of a new conversation with an agent that works in the same folder and "
    "sees nothing of this one. {goal} Say what matters for that: what was asked and decided, which "
    "files and commands are concerned and in which state, what is still open, and all that is "
    "pinned. Leave out what does not matter for it. Answer with the message alone and use no tools."
)
_SOME_GOAL = "Its goal is this: {goal}"
_NO_GOAL = "Its goal is to go on with this work."


def brief_prompt(goal: str | None) -> str:
    """Returns the prompt that asks for the brief of a new thread."""
    return _BRIEF.replace("{goal}", _SOME_GOAL.replace("{goal}", goal) if goal else _NO_GOAL)


async def ask_hidden(
    threads: ProviderThreads,
    writer: ThreadWriter,
    provider_id: str,
    prompt: str,
    *,
    model: str | None = None,
    effort: str | None = None,
) -> TurnOutcome:
    """Runs a turn with this prompt on a fork of the provider thread, and returns its outcome.

    :raises ProviderFailure: when Codex refused or has ended.
    """
    fork = await threads.fork_temporary(
        writer, provider_id, ephemeral=True, model=model, effort=effort
    )
    try:
        await threads.link.request(
            "turn/start", {"threadId": fork.id, "input": [{"type": "text", "text": prompt}]}
        )
        return await fork.watch.outcome()
    finally:
        with anyio.CancelScope(shield=True):
            await threads.delete_quietly(fork.id)
