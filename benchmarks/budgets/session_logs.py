"""Session logs: the speed and memory of reading a long rollout into unified records, and the time
of listing sessions.

Each measurement runs in a process of its own, to measure its memory separately.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.stage import Bench

THREAD = "01a00000-0000-7000-8000-{:012x}"
MIB = 1024 * 1024
TURNS_PER_COMPACTION = 40
# A compacted row of the largest real logs: the context with its screenshots, copied each time.
IMAGE_BYTES = 8 * MIB
IMAGES = 4
READ = """
import sys, time
from pathlib import Path
from trimpoint.sessionlogs.catalogue import found_sessions
from trimpoint.sessionlogs.export import ndjson
from trimpoint.sessionlogs.homes import Homes
from trimpoint.sessionlogs.sessions import Reading
home = Path(sys.argv[1])
[session] = found_sessions(Homes(home, home, home))
began, used = time.perf_counter(), time.process_time()
read = Reading(session) if sys.argv[2] == "records" else ndjson(session, include_compacted=True)
records = sum(1 for _ in read)
seconds, used = time.perf_counter() - began, time.process_time() - used
status = Path("/proc/self/status").read_text()
print(seconds, status.partition("VmHWM:")[2].split()[0], records, used)
"""
LIST = """
import sys, time
from pathlib import Path
from trimpoint.sessionlogs.catalogue import Query, listed
from trimpoint.sessionlogs.homes import Homes
from trimpoint.sessionlogs.overviews import Overviews
home = Path(sys.argv[1])
began = time.perf_counter()
sessions = listed(Homes(home, home, home), Overviews(home / "cache"), Query())
print(time.perf_counter() - began, len(sessions), 0, time.process_time())
"""
WHAT_IF = """
import sys, time
from pathlib import Path
from trimpoint.core.model.decision import Policy
from trimpoint.sessionlogs.catalogue import found_sessions
from trimpoint.sessionlogs.homes import Homes
from trimpoint.sessionlogs.replay.logs import story_of
from trimpoint.sessionlogs.replay.report import ALL, Report
from trimpoint.sessionlogs.sessions import survey
home = Path(sys.argv[1])
began, used = time.perf_counter(), time.process_time()
report = Report(Policy())
for session in found_sessions(Homes(home, home, home)):
    report.add(session.agent, lambda: story_of(session, survey(session), {}))
seconds, used = time.perf_counter() - began, time.process_time() - used
print(seconds, report.groups[ALL].sessions, 0, used)
"""


def run_read(stage: Bench) -> Outcome:
    """Reads one rollout with many turns, tool results and compactions."""
    size, repeats = stage.sized(256, 24) * MIB, stage.sized(3, 2)
    home = stage.room("session-log")
    path = _rollout_path(home, 1)
    written = _write(path, _rows(1, size))
    rates: list[float] = []
    core_rates: list[float] = []
    export_rates: list[float] = []
    peaks: list[float] = []
    for _ in range(repeats):
        read = in_process(READ, home, "records")
        exported = in_process(READ, home, "lines")
        rates.append(written / 1e6 / read.seconds)
        core_rates.append(written / 1e6 / read.core_seconds)
        export_rates.append(written / 1e6 / exported.core_seconds)
        peaks.append(max(read.second, exported.second) / 1024)
    name = f"a rollout of {written // MIB} MiB"
    figures = [
        Figure(f"{name}, by the processor time", "MB/s", core_rates),
        Figure(f"{name}, by the clock", "MB/s", rates),
        Figure("memory", "MiB", peaks),
        Figure("the same, encoded as NDJSON with a digest", "MB/s", export_rates),
    ]
    verdicts = [
        Verdict("reading", figures[0].median, at_least(150, "MB/s"), "one core, median"),
        Verdict("memory", figures[2].median, at_most(60, "MiB"), "most that was resident"),
    ]
    return Outcome(verdicts, figures)


def run_huge(stage: Bench) -> Outcome:
    """Reads one rollout as large as the largest real ones; half of it are copies of screenshots."""
    size = stage.sized(10 * 1024, 96) * MIB
    home = stage.room("session-huge")
    path = _rollout_path(home, 1)
    written = _write(path, _huge_rows(size))
    read = in_process(READ, home, "lines")
    path.unlink()
    figures = [
        Figure(f"a rollout of {written // MIB} MiB", "MB/s", [written / 1e6 / read.core_seconds]),
        Figure("memory", "MiB", [read.second / 1024]),
    ]
    return Outcome(
        [Verdict("memory", figures[1].median, at_most(60, "MiB"), "most that was resident")],
        figures,
    )


def run_list(stage: Bench) -> Outcome:
    """Lists many small sessions, without and with the cache."""
    count, repeats = stage.sized(5_000, 500), stage.sized(3, 2)
    home = stage.room("session-list")
    for number in range(count):
        _write(_rollout_path(home, number), _rows(number, 24 * 1024))
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(repeats):
        (home / "cache").unlink(missing_ok=True)
        cold.append(in_process(LIST, home).seconds)
        warm.append(in_process(LIST, home).seconds)
    figures = [
        Figure(f"{count} sessions, nothing cached", "s", cold),
        Figure("the same again", "s", warm),
    ]
    verdicts = [
        Verdict("cold list", figures[0].median, at_most(15, "s"), "wall clock, median"),
        Verdict("warm list", figures[1].median, at_most(1, "s"), "wall clock, median"),
    ]
    return Outcome(verdicts, figures)


def run_what_if(stage: Bench) -> Outcome:
    """Replays sessions of a megabyte under each policy. A thousand may take a minute."""
    count, repeats = stage.sized(100, 15), stage.sized(3, 2)
    home = stage.room("what-if")
    written = sum(_write(_rollout_path(home, one), _rows(one, 1_000_000)) for one in range(count))
    rates = [written / 1e6 / in_process(WHAT_IF, home).core_seconds for _ in range(repeats)]
    figures = [Figure(f"{count} sessions of 1 MB", "MB/s", rates)]
    least = at_least(1_000 / 60, "MB/s")
    return Outcome([Verdict("what-if", figures[0].median, least, "one core, median")], figures)


class Run(NamedTuple):
    """The four numbers that a program prints; here seconds of the clock, two counts, and seconds
    of the processor.
    """

    seconds: float
    second: float
    third: float
    core_seconds: float


def in_process(program: str, home: Path, *arguments: str) -> Run:
    """Runs a program in a process of its own."""
    command = [sys.executable, "-c", program, str(home), *arguments]
    seconds, second, third, core_seconds = subprocess.run(
        command, capture_output=True, check=True, text=True
    ).stdout.split()
    return Run(float(seconds), float(second), float(third), float(core_seconds))


def _rollout_path(home: Path, number: int) -> Path:
    name = f"rollout-2026-01-02T03-04-05-{THREAD.format(number)}.jsonl"
    path = home / "sessions" / "2026" / "01" / f"{number % 28 + 1:02}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, rows: Iterator[bytes]) -> int:
    with path.open("wb") as file:
        file.writelines(rows)
        return file.tell()


def _huge_rows(size: int) -> Iterator[bytes]:
    """Yields turns, and after every 32 MiB of them a compaction that copies screenshots into its
    row.
    """
    image = {"type": "input_image", "image_url": "data:image/png;base64," + "A" * IMAGE_BYTES}
    shown = _message("user", "look", "shown") | {"content": [image] * IMAGES}
    copied = {"message": "the summary " * 300, "replacement_history": [shown]}
    line = {"timestamp": "2026-01-02T03:04:05.000Z", "type": "compacted", "payload": copied}
    compacted = json.dumps(line, separators=(",", ":")).encode() + b"\n"
    turns = list(_rows(1, IMAGE_BYTES * IMAGES))
    written = 0
    while written < size:
        for row in (*turns, compacted):
            written += len(row)
            yield row


def _rows(number: int, size: int) -> Iterator[bytes]:
    """Yields turns as Codex writes them: a prompt, three commands with results, an answer."""
    written, ordinal, turn = 0, 0, 0
    began = time.gmtime(1_767_323_045)
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", began)
    kept: list[dict[str, object]] = []

    def row(kind: str, payload: Mapping[str, object]) -> bytes:
        nonlocal written, ordinal
        line = {"timestamp": stamp, "ordinal": ordinal, "type": kind, "payload": payload}
        data = json.dumps(line, separators=(",", ":")).encode() + b"\n"
        written, ordinal = written + len(data), ordinal + 1
        return data

    yield row(
        "session_meta",
        {"id": THREAD.format(number), "timestamp": stamp, "cwd": "/p", "cli_version": "0.171.0",
         "base_instructions": {"text": "i" * 15_000}},
    )  # fmt: skip
    while written < size:
        turn += 1
        yield row(
            "event_msg", {"type": "task_started", "turn_id": f"t{turn}", "turn_attribution": {}}
        )
        yield row("turn_context", {"model": "gpt-5", "cwd": "/p"})
        yield row("world_state", {"full": True, "state": {"text": "w" * 3_000}})
        prompt = _message("user", f"prompt {turn} " + "please " * 40, f"u{turn}")
        kept.append(prompt)
        yield row("response_item", prompt)
        for call in range(3):
            call_id = f"c{turn}-{call}"
            item = {
                "type": "function_call",
                "id": call_id,
                "name": "exec_command",
                "call_id": call_id,
                "arguments": json.dumps({"cmd": "rg --files | head"}),
            }
            yield row("response_item", item)
            output = "Output:\n" + "src/module/file_name.py: some text of a line\n" * (
                40 + 60 * call
            )
            result = {"type": "function_call_output", "call_id": call_id, "output": output}
            shown = {"type": "CommandExecution", "id": call_id, "aggregated_output": output}
            yield row("event_msg", {"type": "item_completed", "item": shown})
            yield row("response_item", result)
        yield row("response_item", _message("assistant", "An answer. " * 120, f"a{turn}"))
        counted = {"input_tokens": 1000 * turn, "total_tokens": 1000 * turn}
        info = {"total_token_usage": counted, "last_token_usage": counted}
        yield row("event_msg", {"type": "token_count", "info": info})
        if turn % TURNS_PER_COMPACTION == 0:
            kept = kept[-10:]
            yield row(
                "compacted", {"message": "the summary " * 300, "replacement_history": [*kept]}
            )
        yield row("event_msg", {"type": "task_complete", "turn_id": f"t{turn}"})


def _message(role: str, text: str, item_id: str) -> dict[str, object]:
    part = "output_text" if role == "assistant" else "input_text"
    content = [{"type": part, "text": text}]
    return {"type": "message", "id": item_id, "role": role, "content": content}
