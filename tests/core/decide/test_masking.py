"""Masks: what is masked, what the model is then sent, and how long that lasts."""

import random
import re
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from trimpoint.core.context import removals
from trimpoint.core.context.active_context import turn_items
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.context.inspection import inspect_context
from trimpoint.core.context.removals import freed_by_masks, masked_item
from trimpoint.core.context.segments import context_segments
from trimpoint.core.decide.discarding import CompressionPlan, plan_compression, total_tokens
from trimpoint.core.decide.undoing import newest_boundary
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import DiscardPolicy, Policy, Rejected
from trimpoint.core.views.compression_text import compression_preview, preview_text, rehearsed
from trimpoint.core.views.timeline import Timeline
from trimpoint.core.views.trim_outcome import came_back
from trimpoint.core.views.view import read_model
from trimpoint.operations.history.adoption import as_it_was, inherited_history
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.readmodel import ContextTrimPointDivider, TimelineActivity

from tests.core.discards import at_work, compress, discard, entry_of, work
from tests.core.given import client, started
from tests.core.items import call, output, turn
from tests.core.pinning import act, pin
from tests.effort import tries

FREE = Policy(discard=DiscardPolicy(floor_tokens=0, target_tokens=400))


def mask(*entry_ids: str) -> Any:
    return client(wire.MaskContext, entry_ids=list(entry_ids))


def outputs(items: Sequence[bytes]) -> list[str]:
    """Returns the first word of each output among the items, or its placeholder."""
    decoded = map(msgspec.json.decode, items)
    found = [item["output"] for item in decoded if "output" in item]
    return [text if text.startswith("[") else text.split()[0] for text in found]


def without_outputs(items: Sequence[bytes]) -> list[Any]:
    decoded: list[dict[str, Any]] = [msgspec.json.decode(item) for item in items]
    return [{name: item[name] for name in item if name != "output"} for item in decoded]


def test_only_the_output_of_a_masked_call_is_another() -> None:
    thread = at_work("one", "two", policy=FREE)
    before = conversation_items(thread.state)
    thread.do(mask(entry_of(thread.state, "cat one")))
    thread.settle()
    after = conversation_items(thread.state)
    assert without_outputs(after) == without_outputs(before)
    [placed, whole] = outputs(after)
    assert re.fullmatch(r"\[output of \d+ tokens left the context\]", placed)
    assert whole == "two"
    [unit, *_] = [one for one in context_segments(thread.state) if one.is_masked]
    assert unit.tokens < 60


def test_an_agent_with_the_tools_is_told_where_the_output_can_be_read() -> None:
    thread = at_work("one", policy=FREE)
    thread.write(ev.SettingsChanged(msgspec.json.encode({"agentTools": True})))
    thread.do(mask(entry_of(thread.state, "cat one")))
    thread.settle()
    [placed] = outputs(conversation_items(thread.state))
    assert placed.endswith("left the context; read_history h1.2 has it]")


def test_images_of_an_earlier_prompt_can_be_masked() -> None:
    thread = started(policy=FREE)
    picture = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    turn(thread, "look", "seen")
    first = msgspec.json.decode(thread.state.turns[0].items[0])
    first["content"].append(picture)
    thread.state.turns[0].items[0] = msgspec.json.encode(first)
    thread.turn("next")
    entry = context_segments(thread.state)[0].entry_ids[0]
    thread.do(mask(entry))
    thread.settle()
    shown = msgspec.json.decode(conversation_items(thread.state)[0])
    assert [part["type"] for part in shown["content"]] == ["input_text", "input_text"]
    assert shown["content"][1]["text"] == "[image left the context]"


def test_undo_and_redo_of_a_mask_are_exact() -> None:
    thread = at_work("one", "two", policy=FREE)
    before = conversation_items(thread.state)
    thread.do(mask(entry_of(thread.state, "cat one")))
    thread.settle()
    masked = conversation_items(thread.state)
    boundary = newest_boundary(thread.state)
    assert boundary is not None
    assert came_back(thread.state, boundary).startswith("the output of 1 entry of about ")
    act(thread, client(wire.UndoTrim))
    assert conversation_items(thread.state) == before
    act(thread, client(wire.UndoTrim, redo=True))
    assert conversation_items(thread.state) == masked


def test_what_is_protected_masked_already_or_without_output_is_refused_and_nothing_changes() -> (
    None
):
    thread = at_work("one", "two", policy=FREE)
    turn(thread, "small?", "small!", (call("s"), output("s", "ok")))
    one = entry_of(thread.state, "cat one")
    small = next(
        unit.entry_ids[0] for unit in context_segments(thread.state) if "ls" in unit.preview
    )
    answer = entry_of(thread.state, "one!")
    before = conversation_items(thread.state)
    for names, reason in (
        ([one, answer], Reason.ENTRY_PROTECTED),
        ([one, small], Reason.NOTHING_TO_TRIM),
        ([one, "no such"], Reason.ENTRY_NOT_FOUND),
    ):
        thread.when(mask(*names)).rejected(reason)
    pin(thread, 1)
    thread.when(mask(one)).rejected(Reason.ENTRY_PROTECTED)
    assert conversation_items(thread.state) == before
    two = entry_of(thread.state, "cat two")
    thread.do(mask(two))
    thread.settle()
    said = thread.when(mask(two)).rejected(Reason.ALREADY_DISCARDED).message
    assert said.endswith("is masked already.")


def test_a_mask_that_leaves_less_than_the_floor_is_refused() -> None:
    floor = Policy(discard=DiscardPolicy(floor_tokens=100_000, target_tokens=200_000))
    thread = at_work("one", "two", policy=floor)
    thread.when(mask(entry_of(thread.state, "cat one"))).rejected(Reason.BELOW_FLOOR)


def test_compress_masks_the_oldest_output_and_leaves_the_last_three_turns() -> None:
    thread = at_work(*"abcdefg", policy=FREE)
    total = total_tokens(context_segments(thread.state))
    decision = thread.do(compress(total - 150))
    thread.settle()
    [event] = [event for event in decision.events if isinstance(event, ev.ContextMasked)]
    assert (event.entry_ids, event.trigger) == ((), "compress")
    assert [text[0] for text in outputs(conversation_items(thread.state))] == list("[[cdefg")[:7]
    left = total_tokens(context_segments(thread.state))
    assert 0 < event.est_tokens <= total - left


def test_compress_discards_only_where_masks_do_not_suffice() -> None:
    thread = at_work(*"abcdefg", policy=FREE)
    plan = plan_compression(thread.state, 1, FREE.discard)
    assert isinstance(plan, CompressionPlan)
    assert [one.preview for one in plan.chosen if one.role == "tool"] == [
        f"cat {x}" for x in "abcdef"
    ]
    assert plan.masks == []
    preview = plan_compression(thread.state, plan.total_tokens - 150, FREE.discard)
    assert isinstance(preview, CompressionPlan)
    assert (preview.chosen, preview.is_enough) == ([], True)
    shown = compression_preview(preview)
    assert shown.masked_count == len(shown.masked_entry_ids) == len(preview.masks)
    assert f"  old output, one line in its place: {shown.masked_count}, about " in preview_text(
        preview
    )
    only = plan_compression(thread.state, plan.total_tokens - 150, FREE.discard, only_discard=True)
    assert isinstance(only, CompressionPlan)
    assert only.masks == []
    assert only.chosen


def test_a_mask_and_a_discard_of_one_compress_are_undone_together() -> None:
    thread = at_work(*"abcdefg", policy=FREE)
    before = conversation_items(thread.state)
    total = total_tokens(context_segments(thread.state))
    decision = thread.do(compress(total - 400))
    [event] = [event for event in decision.events if isinstance(event, ev.ContextMasked)]
    assert event.entry_ids
    thread.settle()
    assert conversation_items(thread.state) != before
    act(thread, client(wire.UndoTrim))
    assert conversation_items(thread.state) == before


def test_people_see_the_output_and_that_it_is_masked() -> None:
    thread = at_work("one", "two", policy=FREE)
    one = entry_of(thread.state, "cat one")
    thread.do(mask(one))
    thread.settle()
    entries = list(Timeline(thread.state, frozenset()))
    marked = [entry.id for entry in entries if isinstance(entry, TimelineActivity) and entry.masked]
    assert marked == [one]
    assert not any(entry.trimmed for entry in entries if isinstance(entry, TimelineActivity))
    [divider] = [entry for entry in entries if isinstance(entry, ContextTrimPointDivider)]
    assert (divider.label, divider.masked_count) == ("Output left the context", 1)
    [point] = read_model(thread.state, FREE).context_trim_points
    assert (point.masked_entry_ids, point.discarded_entry_ids) == ([one], [])


def test_a_mask_weighs_each_output_and_its_placeholder_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weighed: list[bytes] = []

    def counted(item: bytes) -> int:
        weighed.append(item)
        return len(item)

    monkeypatch.setattr(removals, "estimate_tokens", counted)
    items = [*map(msgspec.json.encode, (call("a"), output("a", "found " * 50)))]
    assert freed_by_masks(items, {0: "", 1: "h1.2"}).keys() == {1}
    assert weighed[0] == items[1]
    assert weighed[1:] == [masked_item(items[1], "h1.2")]


def test_the_x_ray_knows_a_masked_item() -> None:
    thread = at_work("one", "two", policy=FREE)
    thread.do(mask(entry_of(thread.state, "cat one")))
    thread.settle()
    found = inspect_context(thread.state, conversation_items(thread.state))
    [item] = [one for one in found if one.preview.startswith("[output of ")]
    assert item.short_id is not None
    assert item.tokens < 40


def test_a_fork_inherits_masks() -> None:
    thread = at_work("one", "two", policy=FREE)
    thread.do(mask(entry_of(thread.state, "cat one")))
    thread.settle()
    past = as_it_was(thread.state, 2, (), now=True)
    events = [
        event for event in inherited_history(past, "fork") if isinstance(event, ev.ContextMasked)
    ]
    [mine] = thread.state.discards
    assert [(event.masked_entry_ids, dict(event.masks)) for event in events] == [
        (mine.masked_entry_ids, {turn: tuple(held.items()) for turn, held in mine.masks.items()})
    ]


@pytest.mark.parametrize("seed", range(60))
def test_any_life_with_masks_shows_what_a_plain_model_shows(seed: int) -> None:
    life = Life(seed)
    for _ in range(tries(40)):
        life.step()


class Life:
    """A random life of a thread with masks, compared with a model in plain Python."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.thread = started(policy=FREE)
        self.words: list[str] = []
        self.trims: list[tuple[str, str | int]] = []
        self.undone: list[tuple[str, str | int]] = []
        self.steps: list[str] = []

    def step(self) -> None:
        names = ["turn", "turn", "mask", "mask", "discard", "clear", "undo", "redo", "restart"]
        name = self.chance.choice(names)
        self.steps.append(name)
        getattr(self, f"_{name}")()
        shown = ["masked" if text.startswith("[") else text for text in outputs(self._items())]
        assert shown == self._expected(), self.steps

    def _first(self) -> int:
        return max([int(what) for kind, what in self.trims if kind == "clear"], default=0)

    def _known(self) -> set[str]:
        """Returns the words of the active turns whose items are there. The daemon reads those of
        turns that came back from Codex's rollout.
        """
        pairs = zip(self.words, self.thread.state.turns, strict=True)
        return {word for word, turn in [*pairs][self._first() :] if turn.items_complete}

    def _items(self) -> list[bytes]:
        state = self.thread.state
        turns = [turn for turn in state.active_turns if turn.items_complete]
        return [item for turn in turns for item in turn_items(state, turn)]

    def _expected(self) -> list[str]:
        fate = {what: kind for kind, what in self.trims if kind != "clear"}
        standing = [word for word in self.words if word in self._known()]
        return [
            "masked" if fate.get(word) == "mask" else word
            for word in standing
            if fate.get(word) != "discard"
        ]

    def _did(self, kind: str, what: str | int) -> None:
        self.trims.append((kind, what))
        self.undone.clear()

    def _turn(self) -> None:
        self.words.append(f"w{len(self.steps)}")
        work(self.thread, self.words[-1])
        self.undone.clear()

    def _mask(self) -> None:
        self._take("mask")

    def _discard(self) -> None:
        self._take("discard")

    def _take(self, kind: str) -> None:
        free = sorted(self._known() - {str(what) for _, what in self.trims})
        if free:
            word = self.chance.choice(free)
            entry = entry_of(self.thread.state, f"cat {word}")
            act(self.thread, mask(entry) if kind == "mask" else discard(entry))
            self._did(kind, word)

    def _clear(self) -> None:
        if len(self.words) - self._first() > 1:
            self.thread.clear(1)
            self._did("clear", len(self.words) - 1)

    def _undo(self) -> None:
        if self.trims:
            act(self.thread, client(wire.UndoTrim))
            self.undone.append(self.trims.pop())

    def _redo(self) -> None:
        if self.undone:
            act(self.thread, client(wire.UndoTrim, redo=True))
            self.trims.append(self.undone.pop())

    def _restart(self) -> None:
        assert self.thread.replayed() == self.thread.state


def test_what_compress_would_do_is_refused_for_a_target_below_the_floor() -> None:
    policy = Policy(discard=DiscardPolicy(floor_tokens=50, target_tokens=400))
    thread = at_work("one", policy=policy)
    assert isinstance(rehearsed(thread.state, 10, policy, only_discard=False), Rejected)


def test_nothing_is_masked_beside_a_summary_that_only_codex_can_read() -> None:
    thread = at_work("one", "two", policy=FREE)
    entry = entry_of(thread.state, "cat two")
    thread.compact(None, 1)
    thread.when(mask(entry)).rejected(Reason.NOT_SUPPORTED)
