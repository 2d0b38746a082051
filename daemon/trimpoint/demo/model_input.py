"""Turns the model's input into rows for a person: role and text, and whether the item is left after
a trim. Pure functions.
"""

import re
from typing import Any, NamedTuple

import msgspec

from trimpoint.core.context.active_context import is_preamble

Item = dict[str, Any]


class Row(NamedTuple):
    """One item of the model's input. `before` and `after` tell whether the item is in the input
    before and after the trim.
    """

    role: str
    text: str
    before: bool
    after: bool

    @property
    def is_pruned(self) -> bool:
        """Returns whether the item has left the context."""
        return self.before and not self.after


def compared(before: list[Item], answer: str, after: list[Item]) -> list[Row]:
    """Returns the items of two inputs as one list of rows. `answer` is the model's answer to
    `before`, which is in the context too.
    """
    spoken_before = [*map(_spoken, _conversation(before)), ("assistant", answer)]
    spoken_after = list(map(_spoken, _conversation(after)))
    # From the end, because a trim keeps the newest: of two equal items, the later one is left.
    rows = [
        Row(*spoken, before=True, after=_taken(spoken, spoken_after))
        for spoken in reversed(spoken_before)
    ]
    return [*reversed(rows), *(Row(*spoken, before=False, after=True) for spoken in spoken_after)]


def preamble_size(items: list[Item]) -> int:
    """Returns how many items are Codex's own preamble, such as instructions and environment."""
    return sum(map(is_preamble, items))


def _conversation(items: list[Item]) -> list[Item]:
    return [item for item in items if not is_preamble(item)]


def _taken(spoken: tuple[str, str], remaining: list[tuple[str, str]]) -> bool:
    """Removes an item from those that remain, and returns whether it was there. Each of two equal
    items counts once.
    """
    if spoken not in remaining:
        return False
    remaining.remove(spoken)
    return True


def _spoken(item: Item) -> tuple[str, str]:
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
