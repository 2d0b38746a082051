"""The page's own fold of events, compared with the daemon's on the same journals.

Random lives of a thread: a snapshot in the middle, the events after it, and then the page must show
the same as the daemon.
"""

import json
import random
import shutil
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.core.evolve.evolve import apply, replay
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Accepted, Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.view import TurnWindow, envelopes, read_model
from trimpoint_protocol import commands as wire

from tests.core.given import Conversation, activity, assistant, client, compact, started, trim

NODE = shutil.which("node")
MODULES = Path(__file__).parents[2] / "web" / "app"
LIVES = 120
ACTS = 18
PAGE = 3
TAKEN_BACK = ("thread.reverted", "thread.turns-reverted", "thread.trim-undone")

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(NODE is None, reason="Node.js is not installed"),
]


class Life:
    """A thread with random actions."""

    def __init__(self, seed: int, *, reverts: bool) -> None:
        self.random = random.Random(seed)
        self.thread: Conversation = started()
        self.acts = [
            self.turn, self.turn, self.turn, self.failing_turn, self.clear, self.compact,
            self.rename, self.archive, self.hand_off, self.ask, self.queue, self.requeue, self.late_entry, self.whole_answer, self.discard,
            self.stretch,
            *([self.revert, self.undo] if reverts else []),
        ]  # fmt: skip

    def live(self) -> Conversation:
        for _ in range(ACTS):
            self.random.choice(self.acts)()
        return self.thread

    def turn(self) -> None:
        self.thread.turn(activities=["ls"] * self.random.randrange(3))

    def failing_turn(self) -> None:
        status = self.random.choice(["failed", "interrupted"])
        turn_id = self.thread.begin_turn()
        error = "no" if status == "failed" else None
        if self.random.random() < 0.7:
            half = ("message", "assistant", "half", b"", ev.PART)
            self.thread.report(ev.EntryRecorded(turn_id, f"{turn_id}/half", *half))
        self.thread.report(ev.TurnCompleted(turn_id, status, error))

    def clear(self) -> None:
        keep = self.random.choice([None, 1, 2])
        if self._accepts(trim(keep)):
            self.thread.clear(keep)

    def compact(self) -> None:
        keep = self.random.choice([None, 1])
        if self._accepts(compact(keep, force=True)):
            self.thread.compact(self.random.choice(["in short", None]), keep)

    def rename(self) -> None:
        self.thread.report(ev.ThreadRenamed(f"name {self.random.random()}"))

    def archive(self) -> None:
        self.thread.report(ev.ThreadArchived())
        self.thread.report(ev.ThreadUnarchived())

    def hand_off(self) -> None:
        name = f"thread {len(self.thread.records)}"
        self.thread.report(ev.HandedOff(self.thread.state.id, name, "a brief", "a goal"))

    def ask(self) -> None:
        name = f"question {len(self.thread.records)}"
        self.thread.report(ev.RequestOpened(name, "item/tool/requestUserInput"))
        self.thread.report(ev.RequestClosed(name, "answered"))

    def queue(self) -> None:
        name = f"prompt {len(self.thread.records)}"
        prompt = b'[{"type": "text", "text": "%s"}]' % name.encode()
        self.thread.report(ev.PromptQueued(name, prompt, f"client {name}"))

    def requeue(self) -> None:
        """Changes something about a queued prompt."""
        waiting = [prompt.id for prompt in self.thread.state.queue]
        if not waiting:
            return
        chosen = self.random.choice(waiting)
        event = self.random.choice([
            ev.PromptEdited(chosen, b'[{"type": "text", "text": "edited"}]'),
            ev.PromptsReordered(tuple(self.random.sample(waiting, len(waiting)))),
            ev.PromptWithdrawn(chosen),
            ev.QueueHeld("failed", "no"),
            ev.QueueReleased(),
        ])  # fmt: skip
        self.thread.report(event)

    def late_entry(self) -> None:
        """Records a command that outlives its turn, which is reported when it ends."""
        if self.thread.state.turns:
            turn = self.random.choice(self.thread.state.turns)
            number = len(self.thread.records)
            entry = self.random.choice([activity, assistant])
            self.thread.report(entry(turn.id, "late", f"late-{number}"))

    def whole_answer(self) -> None:
        """Records the rest of an answer of which only a part was recorded."""
        parts = [entry for entry in self.thread.state.entries if entry.is_part]
        if parts:
            part = self.random.choice(parts)
            self.thread.report(assistant(part.turn_id, "half and half", part.id))

    def discard(self) -> None:
        active = self.thread.state.turns[self.thread.state.active_from_turn :]
        if not active:
            return
        turn = self.random.choice(active)
        entries = [entry.id for entry in self.thread.state.entries if entry.turn_id == turn.id]
        command = client(wire.DiscardContext, entry_ids=entries[:1])
        if self._accepts(command):
            self.thread.do(command)
            self.thread.settle()

    def stretch(self) -> None:
        """Puts a summary in the place of one turn or two."""
        count = len(self.thread.state.turns)
        first = self.random.randrange(count) + 1 if count else 1
        ends = {"from_turn": first, "through_turn": min(first + 1, count)}
        if count and self._accepts(compact(**ends)):
            operation_id = self.thread.begin_compaction(**ends)
            self.thread.do(internal.CompleteCompaction(operation_id, "in the middle", 1_500))
            self.thread.settle()

    def revert(self) -> None:
        count = len(self.thread.state.turns)
        command = client(
            wire.RevertToCheckpoint, scope="context", turn_count=self.random.randrange(count + 1)
        )
        if self._accepts(command):
            self.thread.do(command)
            self.thread.finish_revert()

    def undo(self) -> None:
        command = client(wire.UndoTrim)
        if self._accepts(command):
            self.thread.do(command)
            self.thread.settle()

    def _accepts(self, command: Any) -> bool:
        return isinstance(self.thread.when(command).decision, Accepted)


def overflowed() -> Conversation:
    """Returns a thread with a turn that did not fit and continued in a smaller context."""
    thread = started()
    thread.turns(6)
    thread.overflow()
    thread.retry()
    thread.report(ev.TurnCompleted("codex-turn", "completed"))
    thread.turn()
    return thread


def case(thread: Conversation, at: int) -> dict[str, Any]:
    """Returns a snapshot after `at` records, and the later events."""
    state = replay(thread.records[:at])
    snapshot = json_of(read_model(state, Policy(), window=TurnWindow(PAGE)))
    pages = [
        json_of(read_model(state, Policy(), window=TurnWindow(PAGE, before)))
        for before in range(len(state.turns) - PAGE, 0, -PAGE)
    ]
    timeline = timeline_of(state, everything(state))
    events: list[Any] = []
    for record in thread.records[at:]:
        apply(state, record)
        events += [json_of(envelope) for envelope in envelopes(state, record)]
    expanded = [[], sorted(everything(state)), *([one] for one in sorted(everything(state)))]
    return {
        "thread": snapshot,
        "pages": pages,
        "timeline": timeline,
        "events": events,
        "expanded": expanded,
    }


def everything(state: ThreadState) -> frozenset[str]:
    return frozenset(point.id for point in state.boundaries)


def timeline_of(state: ThreadState, expanded: frozenset[str]) -> list[dict[str, Any]]:
    return json_of(list(Timeline(state, expanded)))


def json_of(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))


def expected(thread: Conversation, expanded: list[list[str]]) -> dict[str, Any]:
    """Returns the content that the page must show, in the form of the script."""
    model = json_of(read_model(thread.state, Policy()))
    operation = model["operation"]
    return {
        "name": model["name"],
        "archived": model["archived"],
        "sequence": model["sequence"],
        "compactionCount": model["compactionCount"],
        "session": {
            "status": model["session"]["status"],
            "generation": model["session"]["generation"],
            "reason": model["session"]["generationReason"],
        },
        "operation": operation and {name: operation[name] for name in ("id", "kind", "phase")},
        "queue": [[one["id"], one["input"]] for one in model["queue"]],
        "queueHold": model["queueHold"],
        "links": [model["parentThreadId"], [one["threadId"] for one in model["handoffs"]]],
        "pendingRequests": [one["id"] for one in model["pendingRequests"]],
        "turns": [[t["id"], t["status"], t["error"], t["trimmed"]] for t in model["turns"]],
        "points": [
            [
                point["id"],
                len(point["discardedEntryIds"]) or point["prunedMessageCount"],
                point["summary"],
                point["status"],
            ]
            for point in model["contextTrimPoints"]
        ],
        "timelines": [
            [shown(entry) for entry in timeline_of(thread.state, frozenset(ids))]
            for ids in expanded
        ],
    }


def shown(entry: dict[str, Any]) -> list[Any]:
    match entry["kind"]:
        case "contextSummaryBanner":
            return [entry["kind"], entry["trimPointId"], entry["summary"]]
        case "contextTrimPointDivider":
            return [
                entry["kind"],
                entry["trimPointId"],
                entry["hiddenMessageCount"],
                entry["expanded"],
                entry["trimKind"],
            ]
        case kind:
            role, text = (
                entry.get("role", entry.get("activity")),
                entry.get("text", entry.get("title")),
            )
            return [kind, entry["turnId"], entry["id"], role, text, entry["trimmed"]]


async def folded(cases: list[dict[str, Any]], folder: Path) -> list[dict[str, Any]]:
    log = folder / "log.json"
    log.write_text(json.dumps({"cases": cases}), encoding="utf-8")
    script = Path(__file__).with_name("replay.mjs")
    command = [str(NODE), str(script), str(MODULES), str(log)]
    return list(json.loads((await anyio.run_process(command)).stdout))


async def test_the_page_folds_random_lives_as_the_projector_does(tmp_path: Path) -> None:
    threads = [Life(seed, reverts=False).live() for seed in range(LIVES)]
    threads.append(overflowed())
    ats = [
        random.Random(seed).randrange(1, len(thread.records) + 1)
        for seed, thread in enumerate(threads)
    ]
    cases = [case(thread, at) for thread, at in zip(threads, ats, strict=True)]
    for seed, found in enumerate(await folded(cases, tmp_path)):
        wanted = expected(threads[seed], cases[seed]["expanded"])
        assert found["stale"] is None, seed
        timelines = wanted.pop("timelines")
        assert found["thread"] == wanted, seed
        assert found["timelines"] == timelines, seed


async def test_the_page_asks_anew_after_a_revert_and_is_right_when_it_did(tmp_path: Path) -> None:
    threads = [Life(seed, reverts=True).live() for seed in range(1000, 1000 + LIVES)]
    stale = [case(thread, 1) for thread in threads]
    seen = {event["type"] for one in stale for event in one["events"]}
    assert {"thread.reverted", "thread.trim-undone"} <= seen
    anew = [case(thread, len(thread.records)) for thread in threads]
    found = await folded([*stale, *anew], tmp_path)
    assert [one["stale"] is not None for one in found[:LIVES]] == [
        any(event["type"] in TAKEN_BACK for event in one["events"]) for one in stale
    ]
    for thread, one, shown_anew in zip(threads, anew, found[LIVES:], strict=True):
        wanted = expected(thread, one["expanded"])
        timelines = wanted.pop("timelines")
        assert shown_anew["thread"] == wanted
        assert shown_anew["timelines"] == timelines
