"""Whatever a message holds, it costs at most its own row."""

import random
from typing import Any

import pytest
from trimpoint.tui.model.details import can_open, details, text_of
from trimpoint.tui.model.live import Live
from trimpoint.tui.widgets import row_drawing
from trimpoint.tui.widgets.row_drawing import Place, RowDrawing
from trimpoint_protocol.readmodel import TimelineActivity, TimelineEntry

from tests.chat.entries import banner, did, said

SEEDS, ROUNDS = 5_000, 10
_PIECES = (
    "# ", "```", "```python\n", "~~~", "| a | b |\n|---|\n", "> ", "- ", "1. ", "**", "_", "[", "](",
    "<T>", "<script>", "&#0;", "\x00", "\x1b[2J", "\x1b]0;x\x07", "\u202e", "\u200b", "\ud7ff", "\ufffe",
    "[bold]", "[/bold]", "[/", "\\", "\t", "\r", "\n", "\n\n", "constructor", "__proto__", "toString",
    "👩‍👩‍👧", "می‌خواهم", "語" * 9, "a" * 99, " " * 99, "$", "`", "!", "~~", "\x85", "\u2028",
)  # fmt: skip
_NAMES = (
    "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "reasoning", "plan",
    "contextCompaction", "agentMessage", "userMessage", "__proto__", "", "new kind",
)  # fmt: skip
_MEMBERS = (
    "command", "aggregatedOutput", "changes", "arguments", "result", "error", "contentItems",
    "summary", "content", "text", "status", "exitCode", "commandActions", "path", "diff", "kind",
    "message", "type", "move_path",
)  # fmt: skip


def _text(chance: random.Random) -> str:
    return "".join(chance.choices(_PIECES, k=chance.randrange(12)))


def _value(chance: random.Random, depth: int = 0) -> Any:
    match chance.randrange(7 if depth < 3 else 4):
        case 0:
            return chance.choice((None, True, -1, 10**30, 1.5, float("nan")))
        case 4:
            return [_value(chance, depth + 1) for _ in range(chance.randrange(3))]
        case 5 | 6:
            return {
                chance.choice(_MEMBERS): _value(chance, depth + 1)
                for _ in range(chance.randrange(5))
            }
        case _:
            return _text(chance)


def _entry(chance: random.Random) -> TimelineEntry:
    match chance.randrange(4):
        case 0:
            return said("m", _text(chance), role=chance.choice(("user", "assistant", "")))
        case 1:
            return banner(_text(chance))
        case _:
            return did(chance.choice(_NAMES), _value(chance), _text(chance))


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_every_row_is_drawn_whatever_it_holds(seed: int) -> None:
    drawing = RowDrawing()
    for number in range(seed * SEEDS // ROUNDS, (seed + 1) * SEEDS // ROUNDS):
        chance = random.Random(number)
        entry = _entry(chance)
        place = Place(entry, None, None, None, is_open=True, is_last=True, is_live=number % 2 == 0)
        lines = drawing.lines(place, 40)
        shown = "\n".join(line.text for line in lines)
        assert lines, number
        assert row_drawing._NOT_DRAWN not in shown, number
        assert not set("\x00\x1b\x07\u202e") & set(shown), number
        can_open(entry)
        text_of(entry)
        if isinstance(entry, TimelineActivity):
            details(entry)


def test_items_of_any_shape_can_be_followed() -> None:
    for seed in range(SEEDS // ROUNDS):
        chance = random.Random(seed)
        live = Live()
        item = {
            "id": "i",
            "type": chance.choice(_NAMES),
            **dict(zip(_MEMBERS, [_value(chance) for _ in _MEMBERS], strict=True)),
        }
        item["type"] = chance.choice(_NAMES)
        live.note("item/started", {"turnId": "t", "item": item})
        live.note("item/agentMessage/delta", {"itemId": "i", "delta": _value(chance)})
        live.note("error", {"error": _value(chance), "willRetry": True})
        assert len(live.entries) <= 1


def test_a_row_that_cannot_be_drawn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(place: Place) -> list[Any]:
        raise ValueError(place)

    monkeypatch.setattr(row_drawing, "_parts", fails)
    place = Place(said("m", "x"), None, None, None, is_open=False, is_last=True, is_live=False)
    [line] = RowDrawing().lines(place, 80)
    assert "cannot be drawn" in line.text
