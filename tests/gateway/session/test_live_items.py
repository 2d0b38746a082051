"""What is kept of items that are not completed yet."""

from typing import Any

import msgspec
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.gateway.session.live_items import LiveItems

THREAD = "thread-1"


class SameIds:
    """Ids of a thread that was never trimmed."""

    def turn_of(self, any_id: str) -> str:
        return any_id

    def to_client(self, message: bytes) -> bytes:
        return message


def live_items() -> LiveItems:
    return LiveItems(SameIds())


def said(method: str, **params: Any) -> CodexMessage:
    return CodexMessage.compose(method, {"threadId": THREAD, "turnId": "turn-1", **params})


def started(live: LiveItems, item_id: str, kind: str, **members: Any) -> None:
    live.note(THREAD, said("item/started", item={"id": item_id, "type": kind, **members}))


def shown(live: LiveItems) -> list[dict[str, Any]]:
    return [msgspec.json.decode(one.item) for one in live.of(THREAD)]


def test_deltas_are_appended_to_their_items() -> None:
    live = live_items()
    started(live, "a", "agentMessage", text="")
    started(live, "r", "reasoning", summary=[], content=[])
    for part in ("Hello", ", world"):
        live.note(THREAD, said("item/agentMessage/delta", itemId="a", delta=part))
    for place, part in ((0, "one"), (1, "two"), (1, "!"), (None, "?")):
        params = {"itemId": "r", "summaryIndex": place, "delta": part}
        live.note(THREAD, said("item/reasoning/summaryTextDelta", **params))
    live.note(THREAD, said("item/agentMessage/delta", itemId="unknown", delta="x"))
    live.note(THREAD, said("item/agentMessage/delta", itemId="a", delta=7))
    answer, thought = shown(live)
    assert answer["text"] == "Hello, world"
    assert thought["summary"] == ["one", "two!?"]


def test_of_a_long_output_the_end_is_kept() -> None:
    live = live_items()
    started(live, "c", "commandExecution", aggregatedOutput=None)
    lines = [
        said("item/commandExecution/outputDelta", itemId="c", delta=f"{number:09}\n").line
        for number in range(20_000)
    ]
    live.note_run(THREAD, "item/commandExecution/outputDelta", lines)
    [command] = shown(live)
    assert len(command["aggregatedOutput"]) == 65_536
    assert command["aggregatedOutput"].endswith("000019999\n")


def test_an_item_that_has_ended_is_not_live() -> None:
    live = live_items()
    live.note(THREAD, said("item/completed", item={"id": "a", "type": "agentMessage"}))
    live.note_run(THREAD, "item/agentMessage/delta", [])
    for name in ("a", "b"):
        started(live, name, "agentMessage", text="")
    live.note(THREAD, said("item/completed", item={"id": "a", "type": "agentMessage"}))
    assert [one["id"] for one in shown(live)] == ["b"]
    live.note(THREAD, said("turn/completed", turn={"id": "turn-1"}))
    assert shown(live) == []


def test_what_is_live_when_codex_ends_ends_with_it() -> None:
    live = live_items()
    for turn_id, status in (("turn-1", "completed"), ("turn-2", "interrupted")):
        item = {"id": turn_id, "type": "commandExecution", "status": "inProgress"}
        live.note(THREAD, said("item/started", item=item, turnId=turn_id))
        live.note(THREAD, said("turn/completed", turn={"id": turn_id, "status": status}))
    started(live, "done", "commandExecution", status="inProgress")
    live.note(THREAD, said("item/completed", item={"id": "done"}))
    started(live, "a", "agentMessage", text="")
    live.note(THREAD, said("item/agentMessage/delta", itemId="a", delta="I begin"))
    told = [(thread, message.method, message.object("item")) for thread, message in live.ended(7)]
    assert told == [
        (
            THREAD,
            "item/completed",
            {"id": "turn-1", "type": "commandExecution", "status": "failed"},
        ),
        (THREAD, "item/completed", {"id": "a", "type": "agentMessage", "text": "I begin"}),
    ]
    assert shown(live) == []
    assert list(live.ended(8)) == []
