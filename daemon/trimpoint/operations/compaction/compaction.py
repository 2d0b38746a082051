"""Compacts a fork of a provider thread (docs/adr/0005), so that the thread's own provider thread
never changes.

A compaction has succeeded when its item `contextCompaction` and its turn are completed, and the
summary is the model's own answer (docs/spec/sessions.md, docs/spec/traps.md).
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import anyio
import anyio.to_thread
import msgspec
from msgspec import Raw
from trimpoint_protocol.errors import Reason

from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.codex.history.rollout import compaction_summary, since_compaction
from trimpoint.codex.history.rollout_files import own_lines
from trimpoint.codex.notifications.foreign_usage import USAGE_UPDATED
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.translate import translate
from trimpoint.codex.notifications.watches import TurnOutcome, TurnWatch
from trimpoint.core.context.active_context import message_text
from trimpoint.core.model import events as ev
from trimpoint.core.model.tokens import estimate_total

GUIDANCE_PREFIX = "Additional summarization guidance: "
INTERRUPT_DEADLINE_S = 5.0


class CompactionFailed(Exception):
    """Raised when a compaction failed. The message is for a person, and contains Codex's own
    words.
    """

    def __init__(self, message: str, reason: Reason = Reason.COMPACTION_FAILED) -> None:
        super().__init__(message)
        self.reason = reason


class Compacted(NamedTuple):
    """The result of a compaction. `summary` is None if it is sealed. `fork_id` is the compacted
    provider thread, `rollout_path` its rollout.
    """

    summary: str | None
    fork_id: str
    rollout_path: str | None
    sealed: bool


def carried_usage(usage: Raw | None, injected: list[bytes]) -> tuple[ev.AnyEvent, ...]:
    """Returns the usage of a compacted thread that will serve the thread: Codex's own estimate,
    plus an estimate of the items that were injected since.

    It is the first usage that is known of the new generation.
    """
    facts = translate(CodexMessage(USAGE_UPDATED, usage), 0, b"{}") if usage is not None else ()
    weight = estimate_total(injected)
    estimates = [fact for fact in facts if isinstance(fact, ev.UsageReported) and not fact.input]
    return tuple(
        msgspec.structs.replace(fact, last_total=fact.last_total + weight) for fact in estimates
    )


class Compaction:
    """Runs `thread/compact/start` on a fork that the caller has made and watches, and reads the
    summary.
    """

    def __init__(
        self, link: CodexLink, fork_id: str, rollout_path: str | None, watch: TurnWatch
    ) -> None:
        self._link = link
        self._fork_id = fork_id
        self._rollout_path = rollout_path
        self._watch = watch

    async def run(self, guidance: str | None, deadline_s: float) -> Compacted:
        """Compacts the fork, and returns the summary.

        :raises CompactionFailed: when Codex reports a failure, after `deadline_s` seconds, or when
            the summary is empty.
        :raises ProviderFailure: when Codex did not accept the request.
        """
        if guidance:
            await self._inject(guidance)
        try:
            with anyio.move_on_after(deadline_s):
                await self._link.request("thread/compact/start", {"threadId": self._fork_id})
                outcome = await self._watch.outcome()
                self._check(outcome)
                return await self._read_summary(outcome)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._interrupt()
            raise
        await self._interrupt()
        raise CompactionFailed(f"it did not finish within {deadline_s:g} seconds")

    async def _inject(self, guidance: str) -> None:
        # A developer message: the summarizer reads it, and a compaction drops it (measured: 0.163,
        # inline and sealed).
        item = {
            "type": "message",
            "role": "developer",
            "content": [{"type": "input_text", "text": GUIDANCE_PREFIX + guidance}],
        }
        await self._link.request(
            "thread/inject_items", {"threadId": self._fork_id, "items": [item]}
        )

    def _check(self, outcome: TurnOutcome) -> None:
        if outcome.status == "completed" and outcome.compacted:
            return
        detail = (
            outcome.error or f"its turn ended as {outcome.status or 'unknown'} without a compaction"
        )
        raise CompactionFailed(detail)

    async def _read_summary(self, outcome: TurnOutcome) -> Compacted:
        if self._rollout_path is None:
            raise CompactionFailed(
                "Codex names no file for the compacted conversation, so its summary cannot be read"
            )
        lines = await anyio.to_thread.run_sync(own_lines, self._rollout_path)
        summary = compaction_summary(lines, outcome.turn_id)
        if summary is None:
            return Compacted(None, self._fork_id, self._rollout_path, sealed=True)
        if not summary:
            raise CompactionFailed("the model answered with an empty summary")
        return Compacted(summary, self._fork_id, self._rollout_path, sealed=False)

    async def _interrupt(self) -> None:
        """Interrupts the compaction's turn and waits for its end, because clients may see that
        turn.
        """
        if self._watch.turn_id is None or self._watch.has_ended:
            return
        params = {"threadId": self._fork_id, "turnId": self._watch.turn_id}
        try:
            await self._link.request("turn/interrupt", params, deadline_s=INTERRUPT_DEADLINE_S)
            with anyio.move_on_after(INTERRUPT_DEADLINE_S):
                await self._watch.outcome()
        except ProviderFailure:
            return  # the fork is deleted in any case


async def sealed_context(rollout_path: str | None, kept: Sequence[bytes]) -> list[bytes]:
    """Returns the raw items of a compacted thread, with its sealed summary last, without the
    prompts that are among the items `kept`.

    :raises CompactionFailed: when the items cannot be read from the rollout.
    """
    lines = (
        await anyio.to_thread.run_sync(own_lines, rollout_path) if rollout_path is not None else []
    )
    found = since_compaction(lines)
    if found is None:
        raise CompactionFailed(
            "only Codex can read the summary, and its file of the thread does not say which "
            "messages stand beside it"
        )
    prompts = Counter(text for item in kept if (text := _prompt_text(item)) is not None)
    held: list[bytes] = []
    for item in reversed(found[0]):  # among prompts with the same text, the newest are kept
        text = _prompt_text(item)
        if text is not None and prompts[text]:
            prompts[text] -= 1
        else:
            held.append(item)
    return held[::-1]


def _prompt_text(item: bytes) -> str | None:
    decoded: dict[str, Any] = msgspec.json.decode(item)
    return message_text(decoded) if decoded.get("role") == "user" else None
