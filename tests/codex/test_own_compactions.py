"""What the model answers to a compaction of Codex's own is told from what it says in the turn, heard or read."""

from typing import Any

import msgspec
import pytest
from msgspec import Raw
from trimpoint.codex.history.rollout import items_by_turn
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
    return compactions.is_compaction_reply(thread_id, method, Raw(msgspec.json.encode(params)))


def after(*said: Said) -> ProviderCompactions:
    compactions = ProviderCompactions()
    heard = [hears(compactions, one) for one in said]
    assert not any(heard)
    return compactions


@pytest.mark.parametrize("answer", [ANSWER, THOUGHT], ids=["message", "thought"])
@pytest.mark.parametrize("said", [(BEGINS,), (BEGINS, OTHER_END), (BEGINS, PROMPT)], ids=str)
def test_what_comes_while_codex_compacts_is_an_answer_to_that(said: tuple[Said, ...], answer: Said) -> None:
    assert hears(after(*said), answer)


@pytest.mark.parametrize("said", [(), (OTHER_ITEM,), (BEGINS, ENDS), (BEGINS, TURN_ENDS)], ids=str)
def test_what_comes_before_or_after_belongs_to_the_turn(said: tuple[Said, ...]) -> None:
    assert not hears(after(*said), ANSWER)


def test_another_thread_and_another_codex_are_not_meant() -> None:
    compactions = after(BEGINS)
    assert not hears(compactions, ANSWER, "another-thread")
    compactions.forget_epoch()
    assert not hears(compactions, ANSWER)


def test_codexs_own_files_say_which_items_they_are() -> None:
    begun = {"type": "event_msg", "payload": {"type": "task_started", "turn_id": "turn-1"}}
    gist = {"type": "response_item", "payload": {"role": "assistant", "n": 1}, "metadata": {"compaction_output": True}}
    said = {"type": "response_item", "payload": {"role": "assistant", "n": 2}, "metadata": {"compaction_output": False}}
    old = {"type": "response_item", "payload": {"role": "assistant", "n": 3}}
    items = items_by_turn(msgspec.json.encode(line) for line in (begun, gist, said, old))
    assert [msgspec.json.decode(item)["n"] for item in items["turn-1"]] == [2, 3]
