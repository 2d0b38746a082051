"""Rows as Claude Code writes them into its logs."""

import json
import random
from pathlib import Path
from typing import Any

from tests.sessionlogs.sessions import (
    FIXTURES,
    document_of,
    only_session,
)

REAL = FIXTURES / "claude-code-2.1.197"
SESSION = "11111111-1111-4111-8111-111111111111"
OTHER = "22222222-2222-4222-8222-222222222222"
OPENING = "This session is being continued from a previous conversation that ran out of context."


def write(folder: Path, rows: list[Any], session: str = SESSION, tail: bytes = b"") -> Path:
    path = folder / "projects" / "-p" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n" for one in rows]
    path.write_bytes(b"".join(lines) + tail)
    return path


def prompt(uuid: str, parent: str | None, text: Any, at: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "type": "user", "uuid": uuid, "parentUuid": parent, "sessionId": SESSION, "cwd": "/p",
        "timestamp": f"2026-01-02T03:04:{at:02d}.000Z",
        "message": {"role": "user", "content": text}, **more,
    }  # fmt: skip


def answer(
    uuid: str,
    parent: str | None,
    *blocks: dict[str, Any],
    message_id: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    usage = {"input_tokens": 1, "cache_read_input_tokens": 100, "output_tokens": 10}
    message = {"id": message_id or f"msg-{uuid}", "role": "assistant", "model": "m"}
    return {
        "type": "assistant", "uuid": uuid, "parentUuid": parent, "sessionId": SESSION,
        "timestamp": "2026-01-02T03:04:05.000Z",
        "message": message | {"content": list(blocks), "usage": usage}, **more,
    }  # fmt: skip


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def boundary(
    uuid: str, kept: list[str] | None = None, anchor: str = "s", **meta: Any
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"trigger": "auto", "preTokens": 155116, **meta}
    if kept is not None:
        metadata["preservedMessages"] = {"anchorUuid": anchor, "uuids": kept, "allUuids": kept}
    return {
        "type": "system", "subtype": "compact_boundary", "uuid": uuid, "parentUuid": None,
        "timestamp": "2026-01-02T03:05:00.000Z", "compactMetadata": metadata,
    }  # fmt: skip


def summary(uuid: str, parent: str, words: str = "S", **more: Any) -> dict[str, Any]:
    whole = f"{OPENING} The summary below covers it.\n\nSummary:\n{words}\n\nIf you need specific details from before compaction (x), read it.\nContinue"
    return prompt(uuid, parent, whole, isCompactSummary=True, **more)


CHAIN = [
    prompt("u1", None, "one"),
    answer("a1", "u1", text("first")),
    prompt("u2", "a1", "two"),
    answer("a2", "u2", text("second")),
]


def active(folder: Path) -> list[str]:
    return [one.text for one in document_of(only_session(folder)).messages if one.active]


def random_rows(chance: random.Random, repeated: float = 0.05) -> list[dict[str, Any]]:
    """Rows of every kind, with parents and ids as damaged as they can be."""
    uuids: list[str] = []
    rows: list[dict[str, Any]] = []
    for number in range(chance.randrange(5, 80)):
        uuid = chance.choice(uuids) if uuids and chance.random() < repeated else f"u{number}"
        newest = uuids[-1] if uuids else None
        others = [None, "missing", *uuids]
        parent = newest if chance.random() < 0.8 else chance.choice(others)
        kept = [*chance.sample(uuids, min(len(uuids), chance.randrange(4))), f"u{number + 2}"]
        words = f"{number}"
        used = answer(uuid, parent, text(words), message_id=f"m{number // 2}")
        call_result = [{"type": "tool_result", "tool_use_id": "t", "content": "x"}]
        queued = {"type": "queued_command", "prompt": words}
        row = chance.choices(
            [
                prompt(uuid, parent, words),
                prompt(uuid, parent, call_result),
                used,
                used | {"isApiErrorMessage": True},
                prompt(uuid, parent, "") | {"type": "attachment", "attachment": queued},
                {"type": "queue-operation", "operation": "enqueue", "content": words},
                {"type": "queue-operation", "operation": "remove"},
                boundary(uuid, chance.choice([None, kept]), chance.choice([uuid, "s"])),
                summary(uuid, parent or "missing"),
            ],
            (30, 10, 30, 5, 4, 4, 4, 6, 6),
        )[0]
        rows.append(row | {"isSidechain": chance.random() < 0.07})
        if "uuid" in row:
            uuids.append(uuid)
    return rows
