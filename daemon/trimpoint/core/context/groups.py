"""Groups the raw items of one turn that can only leave the context together, and matches each group
with its entries in the ledger.

Reasoning stays with the items that follow from it, and a tool result with its call, because a model
refuses one without the other. Items are only ever appended to a turn, so a group keeps its number.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.core.context.active_context import call_id, is_call, is_output, is_reasoning
from trimpoint.core.model.ledger import Entry

Item = dict[str, Any]


class ItemGroup:
    """A group of raw items. `positions` are the positions of its items in the turn, `calls` its
    tool calls, those of the model provider's own tools included, and `said` its messages, each as
    its role and its text.

    `is_anonymous` marks a tool call whose id no entry has. Entries whose id no item has are matched
    with such groups: code that calls tools has one entry for each call, but one item for all.
    """

    __slots__ = ("calls", "entries", "is_anonymous", "items", "positions", "said")

    def __init__(self) -> None:
        self.positions: list[int] = []
        self.items: list[Item] = []
        self.entries: list[Entry] = []
        self.calls: list[Item] = []
        self.said: list[tuple[Any, str]] = []
        self.is_anonymous = False

    @property
    def text(self) -> str:
        """Returns the text of the group's first message, or an empty string."""
        return self.said[0][1] if self.said else ""

    def add(self, position: int, item: Item) -> None:
        """Adds an item of the turn."""
        self.positions.append(position)
        self.items.append(item)
        if is_message(item):
            self.said.append((item.get("role"), message_text(item)))
        elif str(item.get("type", "")).endswith("_call"):
            self.calls.append(item)


def grouped(items: Sequence[Item], entries: Sequence[Entry]) -> list[ItemGroup]:
    """Returns the groups of a turn's items with their entries, in the order of their first
    items.
    """
    groups = _group_by_reasoning(items)
    names: dict[str, ItemGroup] = {}  # of an id that was used twice, the first group
    activity_ids = {entry.id for entry in entries if entry.kind != "message"}
    for one in groups:
        own = [name for item in one.items for name in _names(item)]
        for name in own:
            names.setdefault(name, one)
        one.is_anonymous = bool(one.calls) and activity_ids.isdisjoint(own)
    unmatched = {id(group): group for group in groups if group.text}
    anonymous = [group for group in groups if group.is_anonymous]
    last_start = -1
    for entry in entries:
        if entry.is_part:
            continue  # the model does not have it
        group: ItemGroup | None = names.get(entry.id)
        if group is None and entry.kind == "message":
            group = next((one for one in unmatched.values() if _has_message(one, entry)), None)
        elif group is None:
            group = next((one for one in anonymous if one.positions[0] >= last_start), None)
        if group is not None:
            last_start = group.positions[0]
            unmatched.pop(id(group), None)
            group.entries.append(entry)
    return groups


def is_message(item: Item) -> bool:
    """Returns whether the item is a message of any role."""
    return item.get("type") == "message"


def message_text(item: Item) -> str:
    """Returns the text of a message item in the form that its entry has, one line for each part."""
    return "\n".join(
        str(part["text"]) for part in map(as_dict, as_list(item.get("content"))) if "text" in part
    )


def _group_by_reasoning(items: Sequence[Item]) -> list[ItemGroup]:
    groups: list[ItemGroup] = []
    callers: dict[Any, ItemGroup] = {}
    thought: ItemGroup | None = None
    for position, item in enumerate(items):
        group = callers.get(call_id(item)) if is_output(item) else _continues(thought, item)
        if group is None:
            groups.append(group := ItemGroup())
        group.add(position, item)
        if is_call(item):
            # Some providers use ids again, so a result belongs to the last call with its id.
            callers[call_id(item)] = group
        thought = group if is_reasoning(item) else thought if _is_model_output(item) else None
    return groups


def _continues(thought: ItemGroup | None, item: Item) -> ItemGroup | None:
    """Returns `thought` if the item follows from its reasoning, else None. More reasoning belongs
    to it only if no other item has followed yet.
    """
    if thought is None or not _is_model_output(item):
        return None
    return thought if not is_reasoning(item) or is_reasoning(thought.items[-1]) else None


def _is_model_output(item: Item) -> bool:
    if is_message(item):
        return item.get("role") == "assistant"
    return is_reasoning(item) or str(item.get("type", "")).endswith("_call")


def _has_message(group: ItemGroup, entry: Entry) -> bool:
    messages = [text for role, text in group.said if role == entry.role]
    if not entry.detail:
        return entry.text in messages
    # Around attachments Codex adds text that the entry does not have.
    parts = map(as_dict, as_list(as_dict(msgspec.json.decode(entry.detail)).get("content")))
    texts = [str(part["text"]) for part in parts if part.get("type") == "text"]
    return any(all(text in whole for text in texts) for whole in messages)


def _names(item: Item) -> list[str]:
    return [str(name) for name in (item.get("id"), call_id(item)) if name]
