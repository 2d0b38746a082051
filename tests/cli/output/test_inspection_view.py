"""`trimpoint context --items`: how an inspection is printed."""

import io

import msgspec
from rich.console import Console
from trimpoint.cli.views.inspection_view import inspection_view
from trimpoint_protocol.methods import ClassTotal, ContextInspection, InspectedItem


def item(index: int, tokens: int, *, pinned: bool = False, why: str | None = None) -> InspectedItem:
    return InspectedItem(
        index=index,
        item_class="user",
        turn_id="t",
        entry_id="e",
        short_id=f"m{index}.1",
        role="user",
        preview="hello \x1b[31m",
        est_tokens=tokens,
        share=None,
        protected=why,
        pinned=pinned,
    )


def found(overhead: int, **changes: object) -> ContextInspection:
    known: dict[str, object] = {
        "thread_id": "t",
        "items": [item(1, 900, pinned=True), item(2, 100, why="newest")],
        "totals": [ClassTotal(item_class="user", count=2, est_tokens=1_000, share=None)],
        "estimated_tokens": 1_000,
        "used_tokens": 1_000 + overhead,
        "estimated": False,
        "overhead_tokens": overhead,
        "window_tokens": 10_000,
        "percent": 20.0,
        "level": "ok",
        "predicted": False,
        "note": None,
    }
    return ContextInspection(**(known | changes))  # type: ignore[arg-type]


def lines(inspection: ContextInspection) -> list[str]:
    file = io.StringIO()
    Console(file=file, width=110).print(inspection_view(inspection, 110))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_each_item_has_a_line_and_the_sums_add_up() -> None:
    shown = lines(found(1_000))
    assert shown[0].split()[:4] == ["1", "user", "m1.1", "900"]
    assert "(pinned)" in shown[0]
    assert "(stays: newest)" in shown[1]
    assert "\x1b" not in "".join(shown)
    assert any(line.startswith("tools, rest") for line in shown)
    sums = "2k of 10k tokens = 1k in items by estimate + 1k for tools, rest"
    assert shown[-1] == sums


def test_a_long_line_takes_nothing_from_the_columns_beside_it() -> None:
    long = msgspec.structs.replace(item(1, 4_600), item_class="toolResult", preview="word " * 100)
    two = msgspec.structs.replace(long, index=2, parts={"toolResult": 4_000, "image": 600})
    shown = lines(found(0, items=[long, two]))
    assert shown[0].split()[:5] == ["1", "tool", "result", "m1.1", "4.6k"]
    assert shown[1].split()[:4] == ["2", "tool", "result", "+1"]
    assert shown[0].endswith("…")


def test_an_estimate_and_an_unknown_window_are_shown_as_such() -> None:
    shown = lines(found(-10, estimated=True, window_tokens=None, note="Not known yet."))
    assert shown[-2].startswith("~990 tokens = 1k in items by estimate - 10 for tools")
    assert shown[-1] == "Not known yet."
    assert not any(line.startswith("tools, rest") for line in shown)
