"""Turns the model's input into rows for a person: role and text, and whether the item is left after
a trim. Pure functions.
"""

import difflib
import re
from typing import Any, Literal, NamedTuple

import msgspec

from trimpoint.core.context.active_context import is_preamble

Item = dict[str, Any]


Spoken = tuple[str, str]
Seen = Literal["", "sent", "answer"]
"""Of an item: it is not in an input, it was sent in it, or it is the model's answer to it."""


class Row(NamedTuple):
    """One item of the model's input, with its place in each input."""

    role: str
    text: str
    seen: tuple[Seen, ...]

    @property
    def is_pruned(self) -> bool:
        """Returns whether the item was in the first input, and is not in the last."""
        return bool(self.seen[0]) and not self.seen[-1]


def compared(*inputs: tuple[list[Item], str]) -> list[Row]:
    """Returns the items of several inputs as one list of rows, each where it stands in the
    conversation: what left and came back has one row.

    :param inputs: each with the model's answer to it, which is in the context afterwards; empty
        for an input whose answer is not to be shown.
    """
    rows: list[Row] = []
    for number, (items, answer) in enumerate(inputs):
        spoken = list(map(_spoken, _conversation(items)))
        rows = _with_input(rows, [*spoken, *([("assistant", answer)] if answer else [])], number)
        if answer:
            last = max(place for place, row in enumerate(rows) if row.seen[-1])
            seen = rows[last].seen
            rows[last] = rows[last]._replace(seen=(*seen[:-1], "answer"))
    return rows


def _with_input(rows: list[Row], spoken: list[Spoken], number: int) -> list[Row]:
    # From the end, because a trim keeps the newest: of two equal items, the later one is left.
    old, new = rows[::-1], spoken[::-1]
    steps = difflib.SequenceMatcher(
        None, [(row.role, row.text) for row in old], new, autojunk=False
    ).get_opcodes()
    nowhere: list[Seen] = [""] * number
    merged: list[Row] = []
    for kind, old_from, old_to, new_from, new_to in steps:
        if kind == "equal":
            merged += [row._replace(seen=(*row.seen, "sent")) for row in old[old_from:old_to]]
            continue
        merged += [Row(*item, seen=(*nowhere, "sent")) for item in new[new_from:new_to]]
        merged += [row._replace(seen=(*row.seen, "")) for row in old[old_from:old_to]]
    return merged[::-1]


def preamble_size(items: list[Item]) -> int:
    """Returns how many items are Codex's own preamble, such as instructions and environment."""
    return sum(map(is_preamble, items))


def _conversation(items: list[Item]) -> list[Item]:
    return [item for item in items if not is_preamble(item)]


def _spoken(item: Item) -> Spoken:
    match item:
        case {"type": "function_call", "arguments": str(arguments)}:
            return "tool call", str(
                msgspec.json.decode(arguments, type=dict[str, Any]).get("cmd", arguments)
            )
        case {"type": "function_call_output"}:
            return "tool result", _output(item)
        case {"role": str(role), "content": list()}:
            text = " ".join(str(part.get("text", "")) for part in item["content"])
            summary = re.fullmatch(
                r"<conversation-summary[^>]*>(.*)</conversation-summary>", text, re.DOTALL
            )
            return ("summary", summary.group(1)) if summary else (role, text)
        case _:
            return str(item.get("type")), ""


def _output(item: Item) -> str:
    output = item.get("output")
    text = (
        output
        if isinstance(output, str)
        else " ".join(str(part.get("text", "")) for part in output or ())
    )
    # Codex puts a header with ids and times before the command's output.
    printed = text.partition("Output:\n")[2] if "Output:\n" in text else text
    return printed.strip() or "(nothing)"
