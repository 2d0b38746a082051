"""`trimpoint context`, and the bar in `status` and `watch`."""

import io
import signal
from typing import Any

import msgspec
import pytest
from rich.console import Console
from trimpoint.cli.json_output import as_shown
from trimpoint.cli.views.context_view import (
    context_bar,
    context_line,
    context_table,
    small_context,
)
from trimpoint.core.context.context_size import percent_text
from trimpoint.core.model.tokens import short_count
from trimpoint.testkit import Usage, say
from trimpoint_protocol.readmodel import AutoCompaction, ContextStatus

from tests.cli.stage import CliHarness, Terminal

WINDOW = 258_400
EMPTY = ContextStatus(
    thread_id="t", model="gpt-5", used_tokens=0, window_tokens=None, percent=None, left_percent=None, estimated=True, unknown=True,
    level=None, provider_compacts_at_tokens=None, current_input_tokens=0, current_cached_input_tokens=0, current_output_tokens=0,
    current_reasoning_output_tokens=0, current_total_tokens=0, total_input_tokens=0, total_cached_input_tokens=0,
    total_output_tokens=0, total_reasoning_output_tokens=0, total_tokens=0, generation=1,
    auto=AutoCompaction(mode="warn", state="idle", message=""),
)  # fmt: skip


def context(percent: float, level: str = "ok", **changes: Any) -> ContextStatus:
    known = {
        "used_tokens": round(WINDOW * percent / 100), "window_tokens": WINDOW, "percent": percent, "left_percent": round(100 - percent),
        "level": level, "provider_compacts_at_tokens": 244_800, "estimated": False, "unknown": False,
    }  # fmt: skip
    return msgspec.structs.replace(EMPTY, **(known | changes))


def lines(context: ContextStatus, width: int = 110, *, colour: bool = False) -> list[str]:
    file = io.StringIO()
    Console(
        file=file, width=width, force_terminal=colour, color_system="standard" if colour else None
    ).print(context_table(context, width))
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("count", "shown"),
    [(0, "0"), (812, "812"), (999, "999"), (1_000, "1k"), (9_440, "9.4k"), (12_000, "12k"), (99_949, "99.9k"), (99_950, "100k"),
     (258_400, "258k"), (999_499, "999k"), (999_500, "1M"), (1_250_000, "1.2M")],
)  # fmt: skip
def test_tokens_have_the_digits_that_matter_to_a_person(count: int, shown: str) -> None:
    assert short_count(count) == shown


@pytest.mark.parametrize(
    ("percent", "bar"),
    [(0, "░░░░░░░░░┃"), (50, "█████░░░░┃"), (96, "█████████┃"), (250, "█████████┃")],
)
def test_the_bar_is_as_full_as_the_context_and_marks_where_codex_would_compact(
    percent: float, bar: str
) -> None:
    assert context_bar(context(percent), 10).plain == bar


def test_codexs_mark_moves_to_where_codex_is_told_to_compact() -> None:
    assert context_bar(context(50, provider_compacts_at_tokens=WINDOW // 4), 8).plain == "██┃█░░░░"


@pytest.mark.parametrize(
    ("level", "colour"), [("ok", "green"), ("warning", "yellow"), ("critical", "red")]
)
def test_its_colour_says_how_bad_it_is_and_so_do_words(level: str, colour: str) -> None:
    line = context_line(context(75, level))
    assert {str(span.style) for span in line.spans} >= {colour}
    assert (f" {level} " in line.plain) == (level != "ok")
    assert "75%" in line.plain
    assert "194k of 258k tokens" in line.plain


def test_without_a_window_there_is_no_bar_but_what_can_be_done() -> None:
    shown = lines(msgspec.structs.replace(EMPTY, used_tokens=5_000, unknown=False, estimated=False))
    assert shown[0] == "Context    5k  tokens of a window that is not known"
    assert 'max_context_tokens in [models."gpt-5"]' in " ".join(shown)
    new = lines(msgspec.structs.replace(EMPTY, used_tokens=5_000))
    assert "Codex says how large the window is with its first answer." in new[1]
    assert small_context(msgspec.structs.replace(EMPTY, used_tokens=5_000)).plain == "~5k"


def test_an_estimate_is_marked_as_one() -> None:
    unknown = lines(context(12, estimated=True, unknown=True))
    assert "~12%" in unknown[0]
    assert lines(context(12, estimated=True, note="A reason."))[2].strip() == "A reason."


@pytest.mark.parametrize("width", [60, 80, 110])
def test_bar_and_numbers_stand_on_one_line_of_the_terminal(width: int) -> None:
    shown = lines(context(93, "critical"), width)
    assert shown[0].endswith("93% critical  240k of 258k tokens")
    assert len(shown[0]) <= width


@pytest.mark.parametrize(
    ("percent", "text"), [(0.4, "0%"), (6.5, "7%"), (7.5, "8%"), (99.9, "100%")]
)
def test_a_half_percent_goes_up_everywhere(percent: float, text: str) -> None:
    assert f" {text}  " in context_line(context(percent)).plain
    assert percent_text(percent) == text


def test_the_context_shows_what_happens_automatically_beside_the_advice() -> None:
    auto = AutoCompaction(mode="warn", state="idle", message="The context is 93% full.")
    shown = lines(context(93, "critical", auto=auto))
    assert "Automatic  you are warned when it fills up" in shown
    assert "           The context is 93% full." in shown


def test_the_context_shows_one_percentage_and_not_codexs_other_one() -> None:
    assert not any("left" in line for line in lines(context(12)))


def test_tokens_since_the_last_trim_are_shown_after_a_trim() -> None:
    counted: dict[str, Any] = {
        "total_input_tokens": 200_000,
        "total_output_tokens": 20,
        "total_tokens": 200_020,
    }
    present: dict[str, Any] = {"current_input_tokens": 200_000, "current_output_tokens": 20}
    never_trimmed = context(12, **counted, **present, current_total_tokens=200_020)
    assert not any("last trimmed" in line for line in lines(never_trimmed))
    assert any(
        "0 in, 0 out since the context was last trimmed" in line
        for line in lines(context(12, **counted))
    )
    assert "none counted yet" in lines(context(12))[2]


def test_compactions_are_counted_ours_and_codexs_apart() -> None:
    assert "           compacted ×3" in lines(context(12, compaction_count=3))
    both = lines(context(12, compaction_count=3, provider_compaction_count=1))
    assert "           compacted ×3, compacted ×1 by Codex itself" in both
    assert not any("×" in line for line in lines(context(12)))


@pytest.mark.parametrize(
    ("auto", "shown"),
    [
        (AutoCompaction(mode="off", state="idle", message=""), "neither warns nor trims"),
        (
            AutoCompaction(mode="compact", state="idle", message=""),
            "it is compacted when it is critical",
        ),
        (
            AutoCompaction(mode="compact", state="stopped", message="It has stopped."),
            "It has stopped.",
        ),
        (None, ""),
    ],
)
def test_the_context_shows_the_state_of_automatic_compaction(
    auto: AutoCompaction | None, shown: str
) -> None:
    said = lines(context(95, "critical", auto=auto))[-1]
    assert shown in said
    assert said.startswith("Automatic") == (auto is not None)


def test_a_context_of_unknown_size_has_no_bar() -> None:
    assert small_context(None).plain == small_context(EMPTY).plain == ""


async def grow(stage: CliHarness, client: Any, thread: str, *given: int) -> None:
    for input_tokens in given:
        stage.script.then(
            say(
                "answer",
                usage=Usage(input_tokens=input_tokens, cached_input_tokens=input_tokens // 2),
            )
        )
        await stage.turn(client, thread, f"prompt {input_tokens}")


@pytest.mark.codex
async def test_the_context_of_a_thread_for_people_and_for_scripts(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        fresh = await stage.run("context")
        assert (fresh.code, "not known" in fresh.out) == (0, True)
        await grow(stage, client, thread, 30_000, 190_000)
        shown = await stage.run("context", thread[-6:])
        document = (await stage.run("context", thread, "--json")).json()
        status = await stage.run("status")
        rows = (await stage.run("status", "--json")).json()["threads"]
        unknown = await stage.run("context", "nope")
    first, *rest = shown.out.splitlines()
    assert first.split()[0] == "Context"
    assert "74% warning  190k of 258k tokens" in first
    assert any("Codex itself would compact at 245k (┃)" in line for line in rest)
    assert any("220k in (110k cached), 20 out: all calls together" in line for line in rest)
    assert "\x1b" not in shown.out + status.out
    assert (document["usedTokens"], document["level"], document["threadId"]) == (
        190_010,
        "warning",
        thread,
    )
    assert rows[0]["context"] == document
    assert "███████░░┃ 74%" in status.out
    assert (unknown.code, unknown.err.splitlines()[0]) == (
        2,
        "trimpoint: There is no thread 'nope'.",
    )


@pytest.mark.codex
async def test_on_a_terminal_the_bar_has_its_colour(stage: CliHarness, terminal: Terminal) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await grow(stage, client, thread, 190_000)
        async with stage.running(
            "context",
            stdout=terminal.fd,
            stderr=terminal.fd,
            env=stage.environment | {"TERM": "xterm"},
        ) as shown:
            assert await shown.ended() == 0
        screen = await terminal.rest()
    assert "\x1b[33m████" in screen


@pytest.mark.codex
async def test_watching_shows_the_bar_whenever_it_moves_and_what_to_do_about_it(
    stage: CliHarness,
) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await grow(stage, client, thread, 30_000)
        async with stage.running("watch", "--thread", thread) as watch:
            await watch.said("12%  30k of 258k tokens")
            await grow(stage, client, thread, 190_000)
            await watch.said("trimpoint compact summarizes it")
            watch.process.send_signal(signal.SIGINT)
            assert await watch.ended() == 0
    bars = [line.strip() for line in watch.out.splitlines() if "tokens" in line]
    assert [bar.partition(" ")[2] for bar in bars] == [
        "12%  30k of 258k tokens",
        "74% warning  190k of 258k tokens",
    ]


def test_json_has_the_percentages_that_people_see() -> None:
    wire = {"percent": 5.5, "leftPercent": 99, "usedTokens": 7, "rows": [{"cachedPercent": 12.4}]}
    assert as_shown(wire) == {
        "percent": 6,
        "leftPercent": 94,
        "usedTokens": 7,
        "rows": [{"cachedPercent": 12}],
    }
    assert as_shown({"percent": None, "leftPercent": None}) == {
        "percent": None,
        "leftPercent": None,
    }
