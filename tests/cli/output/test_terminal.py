"""Colours on a terminal, plain text elsewhere, and no escape sequence of a model anywhere."""

import io
import os
from collections.abc import Iterator

import msgspec
import pytest
from rich.console import Console
from rich.text import Text
from trimpoint.cli.connection.client import Message
from trimpoint.cli.connection.serving.log_stream import LogStream
from trimpoint.cli.terminal import one_line, printable, stdout_console
from trimpoint.cli.views.live_view import LiveView
from trimpoint.cli.views.timeline_view import Marks, TurnMark, display_title, timeline_rows
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from tests.cli.stage import CliHarness, Terminal

EVIL = "hello\x1b]0;title\x07\x1b[2J\x9bworld\u202egnp.exe\r\nnext\tcell\x00"


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert printable(EVIL) == "hello␛]0;title␇␛[2J�world�gnp.exe\nnext\tcell␀"
    assert one_line("a\n b  c" + "d" * 300, 10) == "a b cdddd…"


def test_a_window_of_zero_columns_is_one_of_unknown_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "0")
    stdout_console().print(Text("an answer"))
    assert capsys.readouterr().out == "an answer\n"


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("/bin/bash -lc 'echo hi'", "echo hi"),
        ("/usr/bin/zsh -lc \"a 'b'\"", "a 'b'"),
        ("cat /bin/bash -lc", "cat /bin/bash -lc"),
        ("README.md", "README.md"),
    ],
)
def test_a_command_is_shown_without_the_shell_around_it(title: str, shown: str) -> None:
    assert display_title(title) == shown


def message(role: str, text: str, *, trimmed: bool = False) -> TimelineMessage:
    return TimelineMessage(
        id="e",
        turn_id="t",
        role=role,
        text=text,
        created_at="",
        trimmed=trimmed,
        trim_point_id=None,
    )


def activity(kind: str, title: str, *, trimmed: bool = False) -> TimelineActivity:
    return TimelineActivity(
        id="a",
        turn_id="t",
        activity=kind,
        title=title,
        created_at="",
        trimmed=trimmed,
        trim_point_id=None,
        detail=None,
    )


def shown(
    entries: list[TimelineEntry], width: int = 50, turns: dict[str, TurnMark] | None = None
) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=False)
    for row in timeline_rows(entries, Marks(trim_points={"p1": 1}, turns=turns or {})):
        console.print(row)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_timeline_reads_from_pruned_over_banner_and_divider_to_kept() -> None:
    lines = shown(
        [
            message("user", "old", trimmed=True),
            activity("commandExecution", "ls", trimmed=True),
            message("assistant", "done", trimmed=True),
            ContextSummaryBanner(
                trim_point_id="p1", header="Context compacted", summary="It was short."
            ),
            ContextTrimPointDivider(
                trim_point_id="p1",
                label="Earlier messages",
                hidden_message_count=18,
                expanded=False,
                trim_kind="boundary",
            ),
            message("user", "new"),
            activity("something.new", "x" * 100),
            message("assistant", f"line one\nline two {EVIL}"),
        ]
    )
    assert lines[:4] == ["┊ ❯ old", "┊   $ ls", "┊ ● done", ""]
    assert lines[4].startswith("╭─ Context compacted ─")
    assert "It was short." in lines[5]
    assert lines[7] == "──── ▸ Earlier messages · 18 pruned ───────── 1 ──"
    assert lines[8:10] == ["", "❯ new"]
    assert (lines[10][:4], lines[10][-1], len(lines[10])) == ("  · ", "…", 50)
    assert lines[11] == "● line one"
    assert "\x1b" not in "".join(lines)


def test_a_discard_leaves_what_it_took_in_its_place_and_says_so() -> None:
    taken = ContextTrimPointDivider(
        trim_point_id="p1",
        label="Discarded",
        hidden_message_count=1,
        expanded=True,
        trim_kind="discard",
    )
    lines = shown(
        [activity("commandExecution", "ls", trimmed=True), message("assistant", "done"), taken]
    )
    assert lines == ["┊   $ ls", "● done", "", "──── ◌ Discarded · 1 taken out above ──────── 1 ──"]


def test_turns_have_numbers_and_times_and_say_how_they_ended() -> None:
    declined = msgspec.structs.replace(
        activity("commandExecution", "x"),
        detail={"command": "/bin/bash -lc 'rm -f LICENSE'", "status": "declined"},
    )
    turns = {
        "t": TurnMark(7, "14:02", "interrupted", None),
        "u": TurnMark(8, "14:03", "failed", "the model is out"),
    }
    entries: list[TimelineEntry] = [
        message("user", "delete it"),
        declined,
        message("user", "really"),
        msgspec.structs.replace(message("user", "go on"), turn_id="u"),
    ]
    assert shown(entries, 40, turns) == [
        "❯ delete it                    7 · 14:02",
        "  $ rm -f LICENSE               declined",
        "",
        "❯ really",
        "■ interrupted",
        "",
        "❯ go on                        8 · 14:03",
        "✗ failed: the model is out",
    ]


def test_every_line_of_what_was_pruned_has_its_dots() -> None:
    lines = shown([message("assistant", "one two three four\nfive", trimmed=True)], 14)
    assert lines == ["┊ ● one two", "┊   three four", "┊   five"]


@pytest.fixture
def file() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def view(file: io.StringIO) -> LiveView:
    return LiveView(Console(file=file, width=60, force_terminal=False), "T")


def said(method: str, **params: object) -> Message:
    return {"method": method, "params": {"threadId": "T", **params}}


def test_the_meter_is_shown_once_a_turn_however_often_it_moves(file: io.StringIO) -> None:
    view = LiveView(Console(file=file, width=60, force_terminal=False), "T", with_meter=True)
    view.show(said("turn/started", turn={"id": "t"}))
    for used in (1_000, 2_000, 3_000):
        view.show(said("context/updated", **context_facts(used)))
    assert file.getvalue() == ""
    view.show(said("turn/completed", turn={"id": "t", "status": "completed"}))
    view.show(said("context/updated", **context_facts(4_000)))
    assert [line.split()[-4] for line in file.getvalue().splitlines()] == ["3k", "4k"]


def context_facts(used: int) -> dict[str, object]:
    counted = [f"{kind}{name}Tokens" for kind in ("current", "total") for name in COUNTS]
    known = {"threadId": "T", "model": "m", "usedTokens": used, "windowTokens": 10_000}
    rest = {"percent": used / 100, "leftPercent": 1, "estimated": False, "unknown": False}
    limits = {"level": "ok", "providerCompactsAtTokens": None}
    return {**known, **rest, **limits, **dict.fromkeys([*counted, "totalTokens"], 0)}


COUNTS = ("Input", "CachedInput", "Output", "ReasoningOutput", "Total")


def test_the_reason_of_a_failed_turn_is_shown_once(view: LiveView, file: io.StringIO) -> None:
    error = {"message": "The model is broken."}
    view.show(said("turn/started", turn={"id": "t"}))
    view.show(said("error", error={"message": "Reconnecting 1/5"}, willRetry=True))
    view.show(said("error", error=error, willRetry=False))
    view.show(said("turn/completed", turn={"id": "t", "status": "failed", "error": error}))
    assert file.getvalue().splitlines() == [
        "Reconnecting 1/5",
        "The turn failed: The model is broken.",
    ]


def test_a_typed_command_tells_its_outcome_once(view: LiveView, file: io.StringIO) -> None:
    payload = {"phase": "ready", "message": "Context cleared."}
    done = said("orchestration/event", type="thread.operation-advanced", payload=payload)
    view.show(said("turn/started", turn={"id": "t"}))
    view.show(done)
    assert file.getvalue() == ""
    view.show(said("turn/completed", turn={"id": "t", "status": "completed"}))
    view.show(done)
    assert "Context cleared." in file.getvalue()


def test_interleaved_streams_each_keep_their_lines(view: LiveView, file: io.StringIO) -> None:
    for delta in ("I ", "think\nso"):
        view.show(said("item/reasoning/summaryTextDelta", itemId="r", delta=delta))
    view.show(said("item/agentMessage/delta", itemId="m", delta=f"Yes{EVIL}"))
    view.show(said("item/completed", item={"type": "agentMessage", "id": "m", "text": "Yes"}))
    view.show(said("item/commandExecution/outputDelta", itemId="c", delta="one\ntw"))
    view.show(said("item/commandExecution/outputDelta", itemId="c", delta="o\n"))
    command = {"type": "commandExecution", "id": "c", "status": "failed", "exitCode": 3}
    view.show(said("item/completed", item=command))
    assert file.getvalue().splitlines() == [
        "  ✻ I think",
        "    so",
        "● Yeshello␛]0;title␇␛[2J�world�gnp.exe",
        "  next    cell␀",
        "    │ one",
        "    │ two",
        "    failed, exit code 3",
    ]


def test_half_a_sentence_of_an_interrupted_turn_is_shown_as_such(
    view: LiveView, file: io.StringIO
) -> None:
    view.show(said("item/agentMessage/delta", itemId="m", delta="The answer i"))
    view.show(said("turn/completed", turn={"status": "interrupted"}))
    assert file.getvalue().splitlines() == ["● The answer i …", "The turn was interrupted."]


EDIT = {"type": "fileChange", "id": "f", "changes": [{"path": "a.txt", "diff": ""}]}
TOOL = {"type": "mcpToolCall", "id": "t", "server": "s", "tool": "look", "status": "failed"}
MESSAGES: list[tuple[Message, str]] = [
    (said("item/completed", item={**EDIT, "status": "declined"}), "  ✎ a.txt · declined"),
    (said("item/completed", item={**EDIT, "status": "completed"}), "  ✎ a.txt"),
    (said("item/completed", item=TOOL), "  ⚒ s/look · failed"),
    (
        said("item/completed", item={"type": "userMessage", "content": [{"type": "image"}]}),
        "❯ [image]",
    ),
    (
        said("item/completed", item={"type": "agentMessage", "id": "x", "text": "at once"}),
        "● at once",
    ),
    (
        said("item/completed", item={"type": "fileChange", "changes": [{"path": "a.py"}]}),
        "  ✎ a.py",
    ),
    (
        said("item/started", item={"type": "contextCompaction"}),
        "  ⇲ The context is being compacted.",
    ),
    (said("turn/completed", turn={"status": "interrupted"}), "The turn was interrupted."),
    (
        said("turn/completed", turn={"status": "failed", "error": {"message": "no\nroom"}}),
        "The turn failed: no room",
    ),
    (said("serverRequest/resolved"), "The question was answered."),
    (said("error", error={"message": "again"}), "again"),
    (
        said("orchestration/event", type="thread.request-opened", payload={"method": "m"}),
        "? The agent asks (m).",
    ),
    (
        said("orchestration/event", type="thread.request-opened", payload={"method": "subAgent"}),
        "↳ A sub-agent is at work.",
    ),
    (
        said("orchestration/event", type="thread.context-lost", payload={"message": "gone"}),
        "! gone",
    ),
]


@pytest.mark.parametrize(("told", "line"), MESSAGES, ids=[line for _, line in MESSAGES])
def test_each_kind_of_news_has_its_line(
    told: Message, line: str, view: LiveView, file: io.StringIO
) -> None:
    view.show(told)
    assert file.getvalue().rstrip() == line


def test_other_threads_and_what_says_nothing_stay_unseen(view: LiveView, file: io.StringIO) -> None:
    view.show(
        {
            "method": "item/agentMessage/delta",
            "params": {"threadId": "other", "itemId": "m", "delta": "x"},
        }
    )
    view.show(said("thread/tokenUsage/updated"))
    view.show(said("item/started", item={"type": "userMessage"}))
    view.show(said("orchestration/event", type="thread.usage-reported", payload={}))
    assert file.getvalue() == ""


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


def test_a_log_without_a_reader_neither_blocks_nor_tears_a_line(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    log = LogStream(theirs)
    for number in range(20_000):
        log.write(f"line {number:06}")
        log.write("\n")
    os.set_blocking(ours, False)
    taken = b""
    while True:
        try:
            taken += os.read(ours, 1 << 20)
        except BlockingIOError:
            if b"the end" in taken:
                break
            log.write("the end\n")
    lines = taken.decode().splitlines()
    assert lines[0] == "line 000000"
    assert all(len(line) == 11 for line in lines if line != "the end")
    assert len(lines) < 20_000


def test_a_log_whose_reader_is_gone_is_dropped(pipe: tuple[int, int]) -> None:
    ours, theirs = pipe
    os.close(ours)
    log = LogStream(theirs)
    assert log.write("lost\n") == 5
    assert log.write("lost too\n") == 9
    assert (log.isatty(), log.writable(), log.fileno()) == (False, True, theirs)


@pytest.mark.codex
async def test_colour_is_for_terminals_and_no_color_is_respected(
    stage: CliHarness, terminal: Terminal
) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        piped = await stage.run("timeline")
        assert "\x1b" not in piped.out + piped.err
        assert all(line == line.rstrip() for line in piped.out.splitlines())
        coloured = await _on(terminal, stage, {"TERM": "xterm-256color"})
        assert "\x1b[1;36m❯" in coloured
        plain = Terminal()
        assert "\x1b[1;36m" not in await _on(
            plain, stage, {"TERM": "xterm-256color", "NO_COLOR": "1"}
        )
        plain.close()


async def _on(terminal: Terminal, stage: CliHarness, environment: dict[str, str]) -> str:
    async with stage.running(
        "timeline", stdout=terminal.fd, env=stage.environment | environment
    ) as timeline:
        assert await timeline.ended() == 0
    return await terminal.rest()


@pytest.mark.codex
async def test_a_reader_that_has_seen_enough_ends_a_command_quietly(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        ours, theirs = os.pipe()
        os.close(ours)
        async with stage.running("timeline", stdout=theirs) as timeline:
            os.close(theirs)
            assert await timeline.ended() == 0
        assert "Traceback" not in timeline.err
        assert "Broken" not in timeline.err
