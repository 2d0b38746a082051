"""A responder for most tests: numbered replies, summaries for compactions, and a queue of prepared
replies.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from typing import Self, assert_never

from trimpoint.testkit.model_request import ModelRequest
from trimpoint.testkit.replies import DEFAULT_USAGE, Reply, Usage, encrypted_compaction, say
from trimpoint.testkit.scripted_model import Respond


class Script:
    """`ScriptedModel(script)` answers turns with "reply 1", "reply 2", … and compactions with
    `summary`.

    The number counts all turn requests, including those answered from the queue. A remote
    compaction is answered with `encrypted_summary`. `usage` is reported by every default reply and
    can be changed while the model runs.
    """

    def __init__(
        self,
        *,
        summary: str = "The summary of the conversation so far.",
        encrypted_summary: str = "an-encrypted-summary",
        usage: Usage = DEFAULT_USAGE,
    ) -> None:
        self.summary = summary
        self.encrypted_summary = encrypted_summary
        self.usage = usage
        self._turn_requests = 0
        self._turns: deque[Reply | Respond] = deque()
        self._compactions: deque[Reply | Respond] = deque()

    def then(self, *replies: Reply | Respond) -> Self:
        """Queues replies for the next turn requests; a responder is called when its request
        arrives.

        A tool call needs two replies: the call, and the reply to its result.
        """
        self._turns.extend(replies)
        return self

    def at_compaction(self, *replies: Reply | Respond) -> Self:
        """Queues replies for the next compaction requests of either kind."""
        self._compactions.extend(replies)
        return self

    def __call__(self, request: ModelRequest) -> Reply | Awaitable[Reply]:
        if request.kind == "turn":
            self._turn_requests += 1
        queue = self._turns if request.kind == "turn" else self._compactions
        queued = queue.popleft() if queue else self._default(request)
        return queued if isinstance(queued, Reply) else queued(request)

    def _default(self, request: ModelRequest) -> Reply:
        kind = request.kind
        match kind:
            case "turn":
                return say(f"reply {self._turn_requests}", usage=self.usage)
            case "inline_compaction":
                return say(self.summary, usage=self.usage)
            case "remote_compaction":
                return encrypted_compaction(self.encrypted_summary, usage=self.usage)
            case _:
                assert_never(kind)
