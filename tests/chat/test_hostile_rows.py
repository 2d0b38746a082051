"""Whatever a message holds, it costs at most its own row."""

import random
from typing import Any

import pytest
from trimpoint.tui.model.details import can_open, details, text_of
from trimpoint.tui.model.live import Live
from trimpoint.tui.widgets import row_drawing
from trimpoint.tui.widgets.row_drawing import Place, RowDrawing
from trimpoint_protocol.readmodel import TimelineActivity

from tests.chat.entries import said
from tests.faces import hostile

ROUNDS = 10


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_every_row_is_drawn_whatever_it_holds(seed: int) -> None:
    drawing = RowDrawing()
    for number in range(seed * hostile.SEEDS // ROUNDS, (seed + 1) * hostile.SEEDS // ROUNDS):
        chance = random.Random(number)
        entry = hostile.entry(chance)
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
    for seed in range(hostile.SEEDS // ROUNDS):
        chance = random.Random(seed)
        live = Live()
        item = hostile.item(chance)
        live.note("item/started", {"turnId": "t", "item": item})
        live.note("item/agentMessage/delta", {"itemId": "i", "delta": hostile.value(chance)})
        live.note("error", {"error": hostile.value(chance), "willRetry": True})
        assert len(live.entries) <= 1


def test_a_row_that_cannot_be_drawn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(place: Place) -> list[Any]:
        raise ValueError(place)

    monkeypatch.setattr(row_drawing, "_parts", fails)
    place = Place(said("m", "x"), None, None, None, is_open=False, is_last=True, is_live=False)
    [line] = RowDrawing().lines(place, 80)
    assert "cannot be drawn" in line.text
