"""Session logs: how fast a long rollout is read into unified records and in how much memory, and
how long a list takes.

Each reading is a process of its own, so that its memory is that of reading alone.
"""

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.stage import Bench

THREAD = "01a00000-0000-7000-8000-{:012x}"
MIB = 1024 * 1024
TURNS_PER_COMPACTION = 40
READ = """
import sys, time
from pathlib import Path
from trimpoint.sessionlogs.catalogue import found_sessions
from trimpoint.sessionlogs.export import ndjson
from trimpoint.sessionlogs.homes import Homes
home = Path(sys.argv[1])
[session] = found_sessions(Homes(home, home, home))
began = time.perf_counter()
records = sum(1 for _ in ndjson(session, include_compacted=True))
seconds = time.perf_counter() - began
status = Path("/proc/self/status").read_text()
print(seconds, status.partition("VmHWM:")[2].split()[0], records)
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
print(time.perf_counter() - began, len(sessions), 0)
"""


def run_read(stage: Bench) -> Outcome:
    """Reads one rollout of many turns, tool results and compactions."""
    size, repeats = stage.sized(256, 24) * MIB, stage.sized(3, 2)
    home = stage.room("session-log")
    path = _rollout_path(home, 1)
    written = _write(path, _rows(1, size))
    rates: list[float] = []
    peaks: list[float] = []
    for _ in range(repeats):
        seconds, peak_kib, _ = _in_process(READ, home)
        rates.append(written / 1e6 / seconds)
        peaks.append(peak_kib / 1024)
    figures = [
        Figure(f"a rollout of {written // MIB} MiB", "MB/s", rates),
        Figure("memory", "MiB", peaks),
    ]
    verdicts = [
        Verdict("reading", figures[0].median, at_least(150, "MB/s"), "wall clock, median"),
        Verdict("memory", figures[1].median, at_most(60, "MiB"), "most that was resident"),
    ]
    return Outcome(verdicts, figures)


def run_list(stage: Bench) -> Outcome:
    """Lists many small sessions, without the cache and with it."""
    count, repeats = stage.sized(5_000, 500), stage.sized(3, 2)
    home = stage.room("session-list")
    for number in range(count):
        _write(_rollout_path(home, number), _rows(number, 24 * 1024))
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(repeats):
        (home / "cache").unlink(missing_ok=True)
        cold.append(_in_process(LIST, home)[0])
        warm.append(_in_process(LIST, home)[0])
    figures = [
        Figure(f"{count} sessions, nothing cached", "s", cold),
        Figure("the same again", "s", warm),
    ]
    verdicts = [
        Verdict("cold list", figures[0].median, at_most(15, "s"), "wall clock, median"),
        Verdict("warm list", figures[1].median, at_most(1, "s"), "wall clock, median"),
    ]
    return Outcome(verdicts, figures)


def _in_process(program: str, home: Path) -> tuple[float, int, int]:
    command = [sys.executable, "-c", program, str(home)]
    seconds, second, third = subprocess.run(
        command, capture_output=True, check=True, text=True
    ).stdout.split()
    return float(seconds), int(second), int(third)


def _rollout_path(home: Path, number: int) -> Path:
    name = f"rollout-2026-01-02T03-04-05-{THREAD.format(number)}.jsonl"
    path = home / "sessions" / "2026" / "01" / f"{number % 28 + 1:02}" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def _write(path: Path, rows: Iterator[bytes]) -> int:
    with path.open("wb") as file:
        file.writelines(rows)
        return file.tell()


def _rows(number: int, size: int) -> Iterator[bytes]:
    """Turns as Codex writes them: a prompt, three commands with results, an answer."""
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
