"""What models were sent while the sessions of the fixtures ran."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PREAMBLES = (
    "# AGENTS.md instructions",
    "<environment_context>",
    "<permissions instructions>",
    "<skills_instructions>",
)


def inputs_of(scene: Path) -> list[list[str]]:
    """What the model was sent each time, in the words of the unified form."""
    inputs = json.loads((scene / "inputs.json").read_text())
    return [[shown for item in one["input"] for shown in _shown(item)] for one in inputs]


def _shown(item: dict[str, Any]) -> list[str]:
    if item["type"] == "compaction":
        return ["SUMMARY:None"]
    if item["type"] == "compaction_trigger":
        return []
    if item["type"] == "reasoning":
        return [part["text"] for part in item["summary"]]
    if "output" in item:
        return [item["output"]]
    if "arguments" in item:
        return [json.dumps(json.loads(item["arguments"]))]
    text = "".join(part.get("text", "") for part in item["content"])
    if item["role"] == "developer" or text.startswith(PREAMBLES):
        return []
    if text.startswith("Another language model"):
        return [f"SUMMARY:{text.partition(chr(10))[2] or 'SUMMARY'}"]
    return [text]


# What the programs put around what was said; of commands, only what they print stands in the log.
AROUND = (
    "<system-reminder>", "<local-command", "<command-", "<session_context>", "<task-notification>",
    "[The previous response was interrupted",
)  # fmt: skip


QUEUED = "The user sent a new message while you were working:"


WORDS = 60


def requests_of(scene: Path) -> list[list[str]]:
    """What the model was sent each time, in words."""
    return [list(_sent(one)) for one in json.loads((scene / "inputs.json").read_text())]


def _sent(messages: list[dict[str, Any]]) -> Iterator[str]:
    answered: set[str] = set()
    for message in messages:
        content: Any = message.get("content") or message.get("parts")
        parts: list[dict[str, Any]] = [{"text": content}] if isinstance(content, str) else content
        for part in parts:
            match part:
                # Gemini CLI sends a result once more each time that its session is resumed.
                case {"functionResponse": {"id": str(call_id)}} if call_id in answered:
                    continue
                case {"functionResponse": {"id": str(call_id)}}:
                    answered.add(call_id)
                case _:
                    pass
            yield from worded(_words_in(part))


def _words_in(part: dict[str, Any]) -> str:
    match part:
        case {"text": str(text)}:
            return text
        case {"input": call} | {"functionCall": {"args": call}}:
            return json.dumps(call)
        case {"functionResponse": {"response": {"output": str(output)}}}:
            return output
        case {"content": [{"text": str(text)}, *_]} | {"content": str(text)}:
            return text
        case _:
            raise AssertionError(part)


def worded(text: str) -> Iterator[str]:
    text = text.strip()
    if text.startswith(QUEUED):  # what was typed while the model worked
        text = text.splitlines()[1]
    if text and not text.startswith(AROUND):
        yield text[:WORDS]
