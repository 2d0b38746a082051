"""No request about a long thread keeps the other clients waiting, counted and not timed: what the
event loop does in one go, and the JSON that it decodes.
"""

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import get_ident
from types import FrameType
from typing import Any

import msgspec
import pytest
from trimpoint.core.model import events as ev
from trimpoint.core.model import tokens
from trimpoint.core.model.state import ThreadState
from trimpoint.gateway.session.requests.dispatch import Call
from trimpoint.threads.writing.loading import TurnsRead
from trimpoint.threads.writing.writer import ThreadWriter

from tests.deadlines import SCENARIO_S
from tests.operations.stage import Stage, opened_stage
from tests.threads.lengths import lengthen
from tests.threads.stage import THREAD

# To copy a turn takes a third of a microsecond: 10 ms at 30,000 turns.
CALLS_AT_ONCE, CALLS_A_TURN = 4_000, 2
DECODED_AT_ONCE = 64 * 1024


class Meter:
    """Counts the calls of functions in each callback of the event loop, and the bytes of JSON that
    it decodes.
    """

    def __init__(self) -> None:
        self.calls = self.most_calls = self.decoded = self.most_decoded = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        self.calls += event in ("call", "c_call")

    @contextmanager
    def measuring(self, patch: pytest.MonkeyPatch) -> Generator[None]:
        loop, run, decode = get_ident(), asyncio.events.Handle._run, msgspec.json.decode

        def counted_run(handle: Any) -> None:
            self.calls = self.decoded = 0
            sys.setprofile(self)
            try:
                run(handle)
            finally:
                sys.setprofile(None)
            self.most_calls = max(self.most_calls, self.calls)
            self.most_decoded = max(self.most_decoded, self.decoded)

        def counted_decode(text: Any, **options: Any) -> Any:
            # The scripted Codex decodes what it is asked.
            by = str(sys._getframe(1).f_globals["__name__"])
            self.decoded += len(text) * (get_ident() == loop and by.startswith("trimpoint"))
            return decode(text, **options)

        with patch.context() as patched:
            patched.setattr(asyncio.events.Handle, "_run", counted_run)
            patched.setattr(msgspec.json, "decode", counted_decode)
            yield


async def asked(stage: Stage, method: str, params: dict[str, Any]) -> Any:
    if method in stage.routes.handlers:
        return await stage.ask(method, **params)
    call = Call(stage.client.client)
    raw = msgspec.Raw(msgspec.json.encode({"threadId": THREAD, **params}))
    answer = await stage.routes.extensions.call(method, raw, call)
    assert answer.error is None, answer.error
    for then in call.after:
        then()
    return answer.result


def typed(text: str) -> tuple[str, dict[str, Any]]:
    return "commands/execute", {"text": text}


# What is looked at in threads takes long at 30,000 turns, and grows as it does at 3,000.
ONLY_SHORTER = [
    ("context/status", {}),
    ("context/inspect", {}),
    ("context/advice", {}),
    ("context/messages/list", {}),
    typed("/compress 40000 --dry-run"),
    typed("/compress 40000"),
    typed("/undo --force --dry-run"),
    typed("/undo --force"),
]
REQUESTS = [
    ("orchestration/snapshot", {}),
    ("orchestration/snapshot", {"turns": 20}),
    ("orchestration/subscribeThread", {}),
    ("orchestration/snapshot", {"threadId": None}),
    ("timeline/read", {}),
    typed("/clear 3 --dry-run"),
    typed("/revert 10 --context --dry-run"),
    typed("/clear"),
    typed("/undo --force"),
    typed("/revert 10 --context"),
    typed("/revert --undo --context"),
    ("thread/read", {"includeTurns": True}),
    ("thread/turns/list", {}),
    ("thread/fork", {}),
]


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weighing is done in a thread, and takes most of the time."""
    for name in ("_tokens_of", "_tokens_of_short"):
        monkeypatch.setattr(tokens, name, lambda item: len(item) // 2)
    monkeypatch.setattr(tokens, "_weigh", lambda items, _: sum(map(len, items)) / 2)


@pytest.fixture
def not_in_the_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    """The threads are made without their records, because a daemon takes seconds to write them."""

    async def none(*_: Any) -> TurnsRead:
        return TurnsRead({}, ThreadState())

    monkeypatch.setattr(ThreadWriter, "turns_in_journal", none)


@pytest.mark.usefixtures("light", "not_in_the_journal")
@pytest.mark.parametrize(
    ("turns", "requests"), [(3_000, ONLY_SHORTER + REQUESTS), (30_000, REQUESTS)]
)
async def test_no_request_about_a_long_thread_keeps_the_loop(
    monkeypatch: pytest.MonkeyPatch, turns: int, requests: list[tuple[str, dict[str, Any]]]
) -> None:
    meters: dict[str, tuple[int, int]] = {}
    async with opened_stage(deadline_s=SCENARIO_S) as stage:
        writer: ThreadWriter = await stage.thread()
        writer.record_facts(ev.UsageReported("T0", 1_000, 1_000, 200_000))
        await writer.flush()
        lengthen(writer.state, turns)
        for number, (method, params) in enumerate(requests):
            meter = Meter()
            with meter.measuring(monkeypatch):
                await asked(stage, method, params)
            name = f"{number} {method} {params}"
            meters[name] = (meter.most_calls, meter.most_decoded)
    most = CALLS_AT_ONCE + CALLS_A_TURN * turns
    slow = {
        name: counts
        for name, counts in meters.items()
        if counts[0] > most or counts[1] > DECODED_AT_ONCE
    }
    assert slow == {}
