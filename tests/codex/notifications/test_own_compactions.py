"""The model's answer to a compaction of Codex's own is separated from the turn, in notifications
and in rollouts.
"""

from typing import Any

import msgspec
import pytest
from trimpoint.codex.history.rollout import injected_ending, items_by_turn
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.codex.notifications.provider_compactions import ProviderCompactions

Said = tuple[str, dict[str, Any]]
THREAD = "provider-thread"
BEGINS: Said = ("item/started", {"item": {"type": "contextCompaction"}})
ENDS: Said = ("item/completed", {"item": {"type": "contextCompaction"}})
TURN_ENDS: Said = ("turn/completed", {"turn": {"id": "turn-1"}})
ANSWER: Said = ("rawResponseItem/completed", {"item": {"type": "message", "role": "assistant"}})
THOUGHT: Said = ("rawResponseItem/completed", {"item": {"type": "reasoning"}})
PROMPT: Said = ("rawResponseItem/completed", {"item": {"type": "message", "role": "user"}})
OTHER_ITEM: Said = ("item/started", {"item": {"type": "userMessage", "text": "contextCompaction"}})
OTHER_END: Said = ("item/completed", {"item": {"type": "commandExecution"}})


def hears(compactions: ProviderCompactions, said: Said, thread_id: str = THREAD) -> bool:
    method, params = said
    return compactions.is_compaction_reply(thread_id, CodexMessage.compose(method, params))


def after(*said: Said) -> ProviderCompactions:
    compactions = ProviderCompactions()
    heard = [hears(compactions, one) for one in said]
    assert not any(heard)
    return compactions


@pytest.mark.parametrize("answer", [ANSWER, THOUGHT], ids=["message", "thought"])
@pytest.mark.parametrize("said", [(BEGINS,), (BEGINS, OTHER_END), (BEGINS, PROMPT)], ids=str)
def test_a_message_during_a_compaction_is_its_answer(said: tuple[Said, ...], answer: Said) -> None:
    assert hears(after(*said), answer)


@pytest.mark.parametrize("said", [(), (OTHER_ITEM,), (BEGINS, ENDS), (BEGINS, TURN_ENDS)], ids=str)
def test_a_message_before_or_after_a_compaction_belongs_to_the_turn(said: tuple[Said, ...]) -> None:
    assert not hears(after(*said), ANSWER)


def test_another_thread_and_another_codex_are_not_meant() -> None:
    compactions = after(BEGINS)
    assert not hears(compactions, ANSWER, "another-thread")
    compactions.forget_epoch()
    assert not hears(compactions, ANSWER)


def test_codexs_own_files_say_which_items_they_are() -> None:
    begun = {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "turn-1"}}
    gist = {
        "type": "response_item",
        "payload": {"role": "assistant", "n": 1},
        "metadata": {"compaction_output": True},
    }
    said = {
        "type": "response_item",
        "payload": {"role": "assistant", "n": 2},
        "metadata": {"compaction_output": False},
    }
    old = {"type": "response_item", "payload": {"role": "assistant", "n": 3}}
    items = items_by_turn(msgspec.json.encode(line) for line in (begun, gist, said, old))
    assert [msgspec.json.decode(item)["n"] for item in items["turn-1"].own] == [2, 3]


@pytest.mark.parametrize(
    ("outcome", "kept"),
    [
        ("Label.\nThe gist.", ["Half way.", "call"]),
        ("Label.\nSomething else.", ["Half way.", "call", "reasoning", "The gist."]),
        ("", ["Half way.", "call", "reasoning", "The gist."]),
    ],
)
def test_a_summary_without_a_label_is_known_by_what_was_made_of_it(
    outcome: str, kept: list[str]
) -> None:
    """Codex 0.153 writes no labels; its result ends with the text of the summary."""
    lines = (
        {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "turn-1"}},
        _item({"type": "message", "role": "assistant", "content": _text("Half way.")}),
        _item({"type": "call"}),
        _item({"type": "reasoning"}),
        _item({"type": "message", "role": "assistant", "content": _text("The gist.")}),
        {"type": "compacted", "payload": {"message": outcome}},
        _item({"type": "message", "role": "assistant", "content": _text("Done.")}),
    )
    own = items_by_turn(map(msgspec.json.encode, lines))["turn-1"].own
    said = [msgspec.json.decode(item) for item in own]
    assert [_told(item) for item in said] == [*kept, "Done."]


def test_an_answer_that_ends_like_a_labelled_summary_is_kept() -> None:
    done = {"type": "message", "role": "assistant", "content": _text("Done.")}
    lines = (
        {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "turn-1"}},
        _item(done),
        _item(done) | {"metadata": {"compaction_output": True}},
        {"type": "compacted", "payload": {"message": "Label.\nDone."}},
    )
    assert len(items_by_turn(map(msgspec.json.encode, lines))["turn-1"].own) == 1


def _item(payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def _text(text: str) -> list[dict[str, str]]:
    return [{"type": "output_text", "text": text}]


def _told(item: dict[str, Any]) -> str:
    content = item.get("content")
    return str(content[0]["text"] if content else item["type"])


@pytest.mark.parametrize("ending", ["task_complete", "turn_aborted"])
def test_codexs_own_files_say_what_was_injected_behind_a_turn(ending: str) -> None:
    def event(kind: str, turn_id: str | None = None) -> dict[str, Any]:
        return {"type": "event_msg", "payload": {"type": kind, "turn_id": turn_id}}

    def item(number: int) -> dict[str, Any]:
        return {
            "type": "response_item",
            "payload": {"type": "message", "role": "user", "n": number},
        }

    lines = (
        *(
            event(ending),
            item(0),
            event("task_started", "turn-1"),
            item(1),
            event(ending),
            item(2),
            item(3),
        ),
        *(event("task_started", "turn-2"), item(4), event(ending)),
    )
    found = items_by_turn(map(msgspec.json.encode, lines))
    numbers = {
        name: tuple([msgspec.json.decode(one)["n"] for one in part] for part in turn[:2])
        for name, turn in found.items()
    }
    assert numbers == {"turn-1": ([1], [2, 3]), "turn-2": ([4], [])}
    assert all(turn.is_ended for turn in found.values())


def test_a_conversation_ends_with_what_was_injected_behind_its_last_turn() -> None:
    def lines(*steps: int | str) -> list[bytes]:
        return [msgspec.json.encode(_line(step)) for step in steps]

    def ending(*steps: int | str) -> tuple[str | None, list[int]] | None:
        found = injected_ending(lines(*steps))
        return found and (
            found.last_turn_id,
            [msgspec.json.decode(item)["n"] for item in found.injected],
        )

    assert ending("task_started", 1, "task_complete", 2, 3) == ("turn", [2, 3])
    assert ending(1, 2) == (None, [1, 2])
    assert ending("task_started", 1, "turn_aborted", 2) == ("turn", [2])
    assert ending("task_started", 1, "task_complete") is None
    assert ending("task_started", 1) is None
    assert ending("compacted", 1) is None
    assert ending() is None


def _line(step: int | str) -> dict[str, Any]:
    if step == "compacted":
        return {"type": "compacted", "payload": {}}
    if isinstance(step, str):
        return {"type": "event_msg", "payload": {"type": step, "turn_id": "turn"}}
    return {"type": "response_item", "payload": {"type": "message", "role": "user", "n": step}}
