"""Sessions for replays: turns from a seed, and the log of Codex that they make."""

import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from tests.sessionlogs.sessions import THREAD

WINDOW, FIRST_INPUT = 20_000, 3_000
BEGAN_S = 1_790_000_000


class Step(NamedTuple):
    """A command with its output, or, without one, the answer that ends a turn."""

    at_s: int
    command: str
    output: str | None


def sessions_of(seed: int) -> list[tuple[str, list[Step]]]:
    """Turns, each a prompt and its steps, with pauses of minutes and of hours between them."""
    chance, now, turns = random.Random(seed), BEGAN_S, []
    for turn in range(chance.randint(8, 30)):
        now += chance.choice((30, 200, 700, 9_000))
        steps = []
        for _ in range(chance.randint(1, 12)):
            now += chance.randint(2, 40)
            name = f"src/part_{chance.randrange(30)}.py"
            steps.append(
                Step(now, f"cat {name}", f"{name} {'line of it ' * chance.randint(1, 250)}")
            )
        steps.append(Step(now + 3, "It is done.", None))
        turns.append((f"Please do number {turn} of the list.", steps))
    return turns


def written(home: Path, turns: list[tuple[str, list[Step]]]) -> Path:
    """The turns as Codex logs them."""
    rows: list[dict[str, Any]] = []

    def row(at_s: int, kind: str, payload: dict[str, Any]) -> None:
        stamp = datetime.fromtimestamp(at_s, UTC).isoformat().replace("+00:00", ".000Z")
        rows.append({"timestamp": stamp, "type": kind, "payload": payload})

    def message(at_s: int, role: str, text: str) -> None:
        part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
        row(at_s, "response_item", {"type": "message", "role": role, "content": [part]})

    row(BEGAN_S, "session_meta", {"id": f"{THREAD}1", "cwd": "/p"})
    calls = 0
    for prompt, steps in turns:
        message(steps[0].at_s, "user", prompt)
        for step in steps:
            calls += 1
            if step.output is None:
                message(step.at_s, "assistant", step.command)
            else:
                given = json.dumps({"command": step.command})
                call = {"name": "shell", "arguments": given, "call_id": f"c{calls}"}
                row(step.at_s, "response_item", {"type": "function_call", **call})
            tokens = {"input_tokens": FIRST_INPUT, "total_tokens": FIRST_INPUT}
            total = {name: count * calls for name, count in tokens.items()}
            info: dict[str, Any] = {"last_token_usage": tokens, "total_token_usage": total}
            info["model_context_window"] = WINDOW
            row(step.at_s, "event_msg", {"type": "token_count", "info": info})
            if step.output is not None:
                answer = {"call_id": f"c{calls}", "output": step.output}
                row(step.at_s, "response_item", {"type": "function_call_output", **answer})
    name = f"rollout-2026-01-02T03-04-05-{THREAD}1.jsonl"
    path = home / "sessions" / "2026" / "01" / "02" / name
    path.parent.mkdir(parents=True)
    path.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return path
