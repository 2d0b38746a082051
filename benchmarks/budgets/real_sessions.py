"""Session logs of Claude Code as long work makes them: the speed of reading one, against decoding
its bytes, and the time until the newest entries of a very large one are shown.

The rows have the members and sizes of real ones: answers in rows of one content block each,
thoughts with signatures, results of tools twice (for the model and for the program), attachments.
"""

import json
import random
from collections.abc import Iterator
from itertools import count
from typing import Any
from uuid import UUID

from benchmarks.budgets.session_logs import in_process
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench

MIB = 1024 * 1024
SESSION = "5e550000-0000-4000-8000-000000000001"
ROWS_PER_COMPACTION = 1_500
WORDS = (
    "the", "session", "reads", "a", "file", "and", "returns", "its", "value", "if", "None", "def",
    "self", "record", "line", "test", "import", "path", "for", "message", "index", "error", "queue",
    '"name":', "\t", "—", "→", "naïve", "(x)", "{}", "/usr/lib/module.py",
)  # fmt: skip
READ = """
import sys, time
from pathlib import Path
import msgspec
from trimpoint.sessionlogs.catalogue import found_sessions
from trimpoint.sessionlogs.export import ndjson
from trimpoint.sessionlogs.homes import Homes
from trimpoint.sessionlogs.sessions import Reading
home = Path(sys.argv[1])
[session] = found_sessions(Homes(home, home, home))
[(path, _)] = session.parts
decode = msgspec.json.Decoder().decode
def decoded():
    with path.open("rb") as file:
        return sum(1 for line in file if decode(line))
def timed(work):
    best = 1e9
    for _ in range(int(sys.argv[2])):
        began = time.process_time()
        done = work()
        best = min(best, time.process_time() - began)
    return best, done
bare, lines = timed(decoded)
records, _ = timed(lambda: sum(1 for _ in Reading(session)))
exported, _ = timed(lambda: sum(1 for _ in ndjson(session, include_compacted=True)))
print(records / bare, exported / bare, lines, bare)
"""

SHOW = """
import contextlib, io, os, sys, time
os.environ["CLAUDE_CONFIG_DIR"] = sys.argv[1]
from trimpoint.cli.main import main
began = time.perf_counter()
shown = io.StringIO()
with contextlib.redirect_stdout(shown):
    assert main(["sessions", "show", sys.argv[2], "--agent", "claude", "-n", "5"]) == 0
print(time.perf_counter() - began, len(shown.getvalue()), 0, time.process_time())
"""


def run_real(stage: Bench) -> Outcome:
    """Reads a session of 4 MiB and one eight times as large."""
    home = stage.room("session-real")
    path = home / "projects" / "-p" / f"{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    figures: list[Figure] = []
    verdicts: list[Verdict] = []
    for mib in (4, stage.sized(32, 8)):
        with path.open("wb") as file:
            file.writelines(session_rows(mib * MIB))
        runs = [in_process(READ, home, "3") for _ in range(stage.sized(3, 1))]
        read = Figure(f"{mib} MiB read : decoded", "×", [run.seconds for run in runs])
        exported = Figure("… exported : decoded", "×", [run.second for run in runs])
        bare = Figure("… decoded", "s", [run.core_seconds for run in runs])
        figures += [read, exported, bare]
        name = f"reading {mib} MiB"
        verdicts.append(Verdict(name, read.median, at_most(4.5, "×"), "processor time, median"))
    size = stage.sized(420_000_000, 16_000_000)
    with path.open("wb") as file:
        file.writelines(session_rows(size))
    runs = [in_process(SHOW, home, SESSION) for _ in range(stage.sized(3, 1))]
    shown = Figure("5 entries shown, its start included", "s", [run.core_seconds for run in runs])
    figures.append(shown)
    name = f"showing the newest of {size // 1_000_000} MB"
    verdicts.append(Verdict(name, shown.median, at_most(1, "s"), "processor time, median"))
    return Outcome(verdicts, figures)


def session_rows(size: int, seed: int = 1) -> Iterator[bytes]:
    """Yields the lines of a session of about `size` bytes."""
    return _Session(seed).rows(size)


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


class _Session:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._newest: str | None = None
        self._numbers = count(1)
        self._prose = " ".join(self._chance.choices(WORDS, k=40_000))
        self._code = "".join(
            f"    {' '.join(self._chance.choices(WORDS, k=7))}\n" for _ in range(4_000)
        )

    def rows(self, size: int) -> Iterator[bytes]:
        """Yields turns with compactions between them."""
        written, since = 0, 0
        while written < size:
            for row in self._turn():
                line = _line(row)
                written, since = written + len(line), since + 1
                yield line
            if since >= ROWS_PER_COMPACTION:
                since = 0
                for row in self._compaction():
                    yield _line(row)

    def _turn(self) -> Iterator[dict[str, Any]]:
        snapshot: dict[str, Any] = {
            "messageId": "m",
            "trackedFileBackups": {},
            "timestamp": self._time(),
        }
        yield {
            "type": "file-history-snapshot",
            "messageId": self._uuid(),
            "snapshot": snapshot,
            "isSnapshotUpdate": False,
        }
        prompt = {"role": "user", "content": self._text(20, 600)}
        yield self._row("user", message=prompt, promptId=self._uuid(), origin={"kind": "human"})
        for _ in range(self._chance.randrange(0, 3)):
            reminder: dict[str, Any] = {"type": "todo_reminder", "content": [], "itemCount": 0}
            yield self._row("attachment", attachment=reminder, rendered=self._text(80, 200))
        for _ in range(self._chance.randrange(2, 14)):
            yield from self._step()
        yield self._answer(f"msg_{self._uuid()}", {"type": "text", "text": self._text(100, 1_500)})
        yield self._row("system", subtype="turn_duration", durationMs=1, messageCount=9)
        yield {"type": "last-prompt", "lastPrompt": "p", "leafUuid": "l", "sessionId": SESSION}

    def _step(self) -> Iterator[dict[str, Any]]:
        message_id = f"msg_{self._uuid()}"
        if self._chance.random() < 0.4:
            signature = self._uuid() * self._chance.randrange(10, 50)
            thought = {"type": "thinking", "thinking": self._text(0, 500), "signature": signature}
            yield self._answer(message_id, thought)
        if self._chance.random() < 0.3:
            yield self._answer(message_id, {"type": "text", "text": self._text(60, 400)})
        call_id = f"toolu_{self._uuid()}"
        name, given, output, kept = self._chance.choices(
            (self._read, self._edit, self._shell), (3, 2, 5)
        )[0]()
        call = {"type": "tool_use", "id": call_id, "name": name, "input": given}
        yield self._answer(message_id, call)
        source = self._newest
        result = {"tool_use_id": call_id, "type": "tool_result", "content": output}
        yield self._row(
            "user",
            message={"role": "user", "content": [result]},
            toolUseResult=kept,
            sourceToolAssistantUUID=source,
        )

    def _read(self) -> tuple[str, Any, str, Any]:
        code = self._lines(200, 4_000)
        file = {"filePath": "/p/a.py", "content": code, "numLines": 9, "startLine": 1}
        return "Read", {"file_path": "/p/a.py"}, code, {"type": "text", "file": file}

    def _edit(self) -> tuple[str, Any, str, Any]:
        old, new = self._lines(60, 800), self._lines(60, 1_200)
        patch = [{"oldStart": 1, "newStart": 1, "lines": new.splitlines()}]
        kept = {"oldString": old, "newString": new, "structuredPatch": patch}
        kept["originalFile"] = self._lines(500, 6_000)
        given = {"file_path": "/p/a.py", "old_string": old, "new_string": new}
        return "Edit", given, "The file /p/a.py has been updated. " + new, kept

    def _shell(self) -> tuple[str, Any, str, Any]:
        output = self._lines(0, 1_500)
        kept = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
        given = {"command": self._text(20, 300), "description": "Look"}
        return "Bash", given, output, kept

    def _compaction(self) -> Iterator[dict[str, Any]]:
        self._newest = None
        meta = {"trigger": "auto", "preTokens": 160_000}
        yield self._row("system", subtype="compact_boundary", compactMetadata=meta, content="C")
        words = (
            "This session is being continued from a previous conversation that ran out of "
            f"context.\n\nSummary:\n{self._text(6_000, 9_000)}"
        )
        summary = {"role": "user", "content": words}
        yield self._row("user", message=summary, isCompactSummary=True)

    def _answer(self, message_id: str, block: dict[str, Any]) -> dict[str, Any]:
        usage = {
            "input_tokens": 3,
            "cache_creation_input_tokens": 700,
            "cache_read_input_tokens": 90_000,
            "output_tokens": 250,
            "server_tool_use": {"web_search_requests": 0, "web_fetch_requests": 0},
            "service_tier": "standard",
            "cache_creation": {"ephemeral_1h_input_tokens": 0, "ephemeral_5m_input_tokens": 700},
        }
        message = {
            "id": message_id,
            "type": "message",
            "role": "assistant",
            "model": "claude-opus-5-5",
            "content": [block],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        return self._row("assistant", message=message, requestId="req_1")

    def _row(self, kind: str, **members: Any) -> dict[str, Any]:
        parent, self._newest = self._newest, self._uuid()
        return {
            "parentUuid": parent,
            "isSidechain": False,
            **members,
            "type": kind,
            "uuid": self._newest,
            "timestamp": self._time(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": "/home/you/project",
            "sessionId": SESSION,
            "version": "2.1.332",
            "gitBranch": "main",
        }

    def _uuid(self) -> str:
        return str(UUID(int=next(self._numbers) << 64 | 0x8000_0000_0000_0000))

    def _time(self) -> str:
        return "2026-01-02T03:04:05.000Z"

    def _text(self, least: int, most: int) -> str:
        return self._piece(self._prose, least, most)

    def _lines(self, least: int, most: int) -> str:
        return self._piece(self._code, least, most)

    def _piece(self, of: str, least: int, most: int) -> str:
        size = self._chance.randrange(least, most)
        at = self._chance.randrange(len(of) - size)
        return of[at : at + size]
