"""The items of the running turn, from Codex's notifications. An item is removed when it is recorded
in the history.
"""

from collections.abc import Callable, Mapping
from typing import Any

from trimpoint_protocol.lenient import as_dict, as_list, words_of_error
from trimpoint_protocol.readmodel import TimelineActivity, TimelineMessage

from trimpoint.codex.notifications.translate import activity_title

_TEXT_DELTAS = frozenset(
    {
        "item/agentMessage/delta",
        "item/plan/delta",
        "item/reasoning/summaryTextDelta",
        "item/reasoning/textDelta",
    }
)
_OUTPUT_DELTA = "item/commandExecution/outputDelta"
_COMPACTION = "contextCompaction"
_MESSAGES = {"agentMessage": "assistant", "userMessage": "user"}
LiveEntry = TimelineMessage | TimelineActivity


class _Item:
    def __init__(self, turn_id: str, item: Mapping[str, Any], text: str) -> None:
        self.turn_id = turn_id
        self.item = item
        self.is_done = False
        self.pieces = [text] if text else []
        self.output: list[str] = []


class Live:
    """The live items; `note` adds notifications. `entries` are in the order in which Codex started
    the items.

    `retry` is Codex's message while it repeats a call of the model.
    """

    def __init__(self) -> None:
        self.retry = ""
        self._items: dict[str, _Item] = {}

    def note(self, method: str, params: Mapping[str, Any]) -> bool:
        """Processes a notification of Codex; returns whether it changed anything."""
        match method:
            case "item/started" | "item/completed":
                self._note_item(params, is_done=method == "item/completed")
            case "turn/started":
                self.retry = ""
            case "turn/completed":
                self._end_turn(str(as_dict(params.get("turn")).get("status")))
            case "error":
                message = as_dict(params.get("error")).get("message")
                said = words_of_error(str(message or "The model failed"))
                self.retry = f"{said}; trying again …" if params.get("willRetry") else ""
            case _ if method in _TEXT_DELTAS:
                return self._append(params, lambda item: item.pieces)
            case _ if method == _OUTPUT_DELTA:
                return self._append(params, lambda item: item.output)
            case _:
                return False
        return True

    def restore(self, turn_id: str, item: Mapping[str, Any]) -> None:
        """Takes an item of a running turn as it is now; deltas go on from there."""
        restored = _Item(turn_id, item, _text_of(item))
        if output := str(item.get("aggregatedOutput") or ""):
            restored.item = {**item, "aggregatedOutput": ""}
            restored.output.append(output)
        self._items[str(item.get("id"))] = restored

    def forget(self, recorded: set[str]) -> None:
        """Removes the items that are recorded now; `recorded` holds keys as `key_of` returns
        them.
        """
        for item_id, item in list(self._items.items()):
            if f"{item.turn_id}/{item_id}" in recorded:
                del self._items[item_id]

    def clear(self) -> None:
        """Removes all items."""
        self._items.clear()
        self.retry = ""

    def item(self, item_id: str) -> Mapping[str, Any]:
        """Returns Codex's item with this id; empty if it is not live."""
        found = self._items.get(item_id)
        return found.item if found is not None else {}

    @property
    def is_writing(self) -> bool:
        """Returns whether an agent message is incomplete."""
        return any(
            not item.is_done and item.pieces and item.item.get("type") == "agentMessage"
            for item in self._items.values()
        )

    @property
    def entries(self) -> list[LiveEntry]:
        """Returns the items as entries of a timeline."""
        return [_entry(item_id, item) for item_id, item in self._items.items()]

    def _note_item(self, params: Mapping[str, Any], *, is_done: bool) -> None:
        item = as_dict(params.get("item"))
        item_id = str(item.get("id"))
        known = self._items.get(item_id)
        fresh = _Item(str(params.get("turnId") or ""), item, _text_of(item))
        if known is not None:
            fresh.pieces = fresh.pieces or known.pieces
            fresh.output = known.output
        fresh.is_done = is_done
        self.retry = ""
        if is_done and item.get("type") == _COMPACTION:
            # The history says whose compaction it was.
            self._items.pop(item_id, None)
            return
        self._items[item_id] = fresh

    def _append(self, params: Mapping[str, Any], pieces: Callable[[_Item], list[str]]) -> bool:
        item = self._items.get(str(params.get("itemId")))
        if item is None:
            return False
        pieces(item).append(str(params.get("delta") or ""))
        return True

    def _end_turn(self, status: str) -> None:
        """Removes unfinished items, but for what the agent has said in a turn that was cut short.
        What is finished stays until it is recorded.
        """
        self.retry = ""
        is_cut = status != "completed"
        for name, item in list(self._items.items()):
            is_said = item.item.get("type") == "agentMessage" and item.pieces
            if not item.is_done and not (is_cut and is_said):
                del self._items[name]
            item.is_done = True


def _entry(item_id: str, item: _Item) -> LiveEntry:
    kind = str(item.item.get("type") or "")
    common: dict[str, Any] = {
        "id": item_id,
        "turn_id": item.turn_id,
        "created_at": "",
        "trimmed": False,
        "trim_point_id": None,
    }
    text = "".join(item.pieces)
    if kind in _MESSAGES:
        return TimelineMessage(role=_MESSAGES[kind], text=text, **common)
    detail = dict(item.item)
    if item.output and not detail.get("aggregatedOutput"):
        detail["aggregatedOutput"] = "".join(item.output)
    title = text if kind in {"reasoning", "plan"} and text else activity_title(kind, detail)
    if kind == _COMPACTION:
        title = "Codex compacts the context"
    return TimelineActivity(activity=kind, title=title, detail=detail, **common)


def _text_of(item: Mapping[str, Any]) -> str:
    match item.get("type"):
        case "userMessage":
            parts = map(as_dict, as_list(item.get("content")))
            return "\n".join(str(part.get("text") or "") for part in parts).strip()
        case "reasoning":
            said = [*as_list(item.get("summary")), *as_list(item.get("content"))]
            return "\n\n".join(map(str, said))
        case "agentMessage" | "plan":
            return str(item.get("text") or "")
        case _:
            return ""
