"""Keeps the items that are not completed yet, with what was streamed of them, so that a client that
comes in the middle of a turn can show them.

A delta is kept as Codex sent it and read only when somebody asks, or when many bytes have gathered:
thousands of them come in a second.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.shapes.orchestration import LiveItem

from trimpoint.codex.notifications.message import CodexMessage

MAX_OUTPUT_CHARS = 65_536
"""The most characters of a running command's output that are kept: the last ones."""
_FOLD_AT_BYTES = 262_144

STARTED, COMPLETED, TURN_ENDED = "item/started", "item/completed", "turn/completed"
# The delta's method → the member of the item that it is appended to, and the parameter with the
# place in that member if it is a list.
DELTAS: dict[str, tuple[str, str | None]] = {
    "item/agentMessage/delta": ("text", None),
    "item/plan/delta": ("text", None),
    "item/commandExecution/outputDelta": ("aggregatedOutput", None),
    "item/reasoning/summaryTextDelta": ("summary", "summaryIndex"),
    "item/reasoning/textDelta": ("content", "contentIndex"),
}


class Ids(Protocol):
    """Replaces Codex's ids by those that clients see."""

    def turn_of(self, any_id: str) -> str:
        """Returns the thread's own id of a turn."""
        ...

    def to_client(self, message: bytes) -> bytes:
        """Returns JSON with the ids that clients see."""
        ...


class _Delta(NamedTuple):
    method: str
    line: bytes


class _Items:
    """The live items of one thread, each with its turn; `deltas` are not yet part of them.
    `left_running` are commands that have outlived their turn.
    """

    def __init__(self) -> None:
        self.items: dict[str, tuple[str, dict[str, Any]]] = {}
        self.left_running: dict[str, tuple[str, dict[str, Any]]] = {}
        self.deltas: list[_Delta] = []
        self.bytes = 0

    def fold(self) -> None:
        for method, line in self.deltas:
            params = as_dict(as_dict(msgspec.json.decode(line)).get("params"))
            known = self.items.get(str(params.get("itemId")))
            if known is not None:
                _append(known[1], method, params)
        self.deltas, self.bytes = [], 0


class LiveItems:
    """The live items of the threads of one Codex."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._threads: dict[str, _Items] = {}

    def note(self, thread_id: str, message: CodexMessage) -> None:
        """Records what a notification of Codex says about an item."""
        if message.method in DELTAS:
            self.note_run(thread_id, message.method, [message.line])
        elif message.method == STARTED:
            item = message.object("item")
            live = self._threads.setdefault(thread_id, _Items())
            live.items[str(item.get("id"))] = str(message.member("turnId")), dict(item)
        elif message.method in (COMPLETED, TURN_ENDED) and thread_id in self._threads:
            self._remove(thread_id, message)

    def _remove(self, thread_id: str, message: CodexMessage) -> None:
        live = self._threads[thread_id]
        if message.method == COMPLETED:
            item_id = str(message.object("item").get("id"))
            live.items.pop(item_id, None)
            live.left_running.pop(item_id, None)
        else:
            turn = message.object("turn")
            ended = [name for name, (of_turn, _) in live.items.items() if of_turn == turn.get("id")]
            for name in ended:
                of_turn, item = live.items.pop(name)
                # Codex tells nothing more of the commands of a turn that was interrupted.
                if item.get("type") == "commandExecution" and turn.get("status") == "completed":
                    live.left_running[name] = of_turn, item
        if not live.items and not live.left_running:
            del self._threads[thread_id]

    def note_run(self, thread_id: str, method: str, lines: list[bytes]) -> None:
        """Records a run of notifications of one method."""
        live = self._threads.get(thread_id)
        if live is None or method not in DELTAS:
            return
        live.deltas.extend(_Delta(method, line) for line in lines)
        live.bytes += sum(map(len, lines))
        if live.bytes > _FOLD_AT_BYTES:
            live.fold()

    def of(self, thread_id: str) -> list[LiveItem]:
        """Returns the live items of a thread, oldest first, as they are after all that clients were
        sent.
        """
        live = self._threads.get(thread_id)
        if live is None:
            return []
        live.fold()
        return [
            LiveItem(
                turn_id=self._ids.turn_of(turn_id),
                item=Raw(self._ids.to_client(msgspec.json.encode(item))),
            )
            for turn_id, item in live.items.values()
        ]

    def ended(self, now_ms: int) -> Iterator[tuple[str, CodexMessage]]:
        """Forgets all items, because Codex has ended, and yields each thread with the message that
        one of them has, too: with what was streamed, and failed if it is more than a text.
        """
        threads, self._threads = self._threads, {}
        for thread_id, live in threads.items():
            live.fold()
            for turn_id, item in [*live.left_running.values(), *live.items.values()]:
                failed = {"status": "failed"} if "status" in item else {}
                params = {"threadId": thread_id, "turnId": turn_id, "completedAtMs": now_ms}
                yield thread_id, CodexMessage.compose(COMPLETED, {**params, "item": item | failed})


def _append(item: dict[str, Any], method: str, params: dict[str, Any]) -> None:
    member, place_name = DELTAS[method]
    delta = params.get("delta")
    if not isinstance(delta, str):
        return
    if place_name is None:
        item[member] = _text(item.get(member)) + delta
        if member == "aggregatedOutput":
            item[member] = item[member][-MAX_OUTPUT_CHARS:]
        return
    place, parts = params.get(place_name), as_list(item.get(member))
    at = place if isinstance(place, int) and 0 <= place < 10_000 else max(0, len(parts) - 1)
    parts = [*parts, *[""] * (at + 1 - len(parts))]
    parts[at] = _text(parts[at]) + delta
    item[member] = parts


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
