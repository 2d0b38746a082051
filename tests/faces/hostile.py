"""Entries and items of any shape and text, made from a number: what a model or a tool may send."""

import random
from typing import Any

from trimpoint_protocol.readmodel import TimelineEntry

from tests.chat.entries import banner, did, said
from tests.effort import tries

SEEDS = tries(5_000)
_PIECES = (
    "# ", "```", "```python\n", "~~~", "| a | b |\n|---|\n", "> ", "- ", "1. ", "**", "_", "[", "](",
    "<T>", "<script>", "&#0;", "\x00", "\x1b[2J", "\x1b]0;x\x07", "\u202e", "\u200b", "\ud7ff", "\ufffe",
    "[bold]", "[/bold]", "[/", "\\", "\t", "\r", "\n", "\n\n", "constructor", "__proto__", "toString",
    "👩‍👩‍👧", "می‌خواهم", "語" * 9, "a" * 99, " " * 99, "$", "`", "!", "~~", "\x85", "\u2028",
)  # fmt: skip
NAMES = (
    "commandExecution", "fileChange", "mcpToolCall", "dynamicToolCall", "reasoning", "plan",
    "contextCompaction", "agentMessage", "userMessage", "__proto__", "", "new kind",
)  # fmt: skip
MEMBERS = (
    "command", "aggregatedOutput", "changes", "arguments", "result", "error", "contentItems",
    "summary", "content", "text", "status", "exitCode", "commandActions", "path", "diff", "kind",
    "message", "type", "move_path",
)  # fmt: skip


def text(chance: random.Random) -> str:
    """Returns pieces of Markdown, markup, control characters and scripts."""
    return "".join(chance.choices(_PIECES, k=chance.randrange(12)))


def value(chance: random.Random, depth: int = 0) -> Any:
    """Returns a value of any type."""
    match chance.randrange(7 if depth < 3 else 4):
        case 0:
            return chance.choice((None, True, -1, 10**30, 1.5, float("nan")))
        case 4:
            return [value(chance, depth + 1) for _ in range(chance.randrange(3))]
        case 5 | 6:
            return {
                chance.choice(MEMBERS): value(chance, depth + 1) for _ in range(chance.randrange(5))
            }
        case _:
            return text(chance)


def entry(chance: random.Random) -> TimelineEntry:
    """Returns an entry of a timeline."""
    match chance.randrange(4):
        case 0:
            return said("m", text(chance), role=chance.choice(("user", "assistant", "")))
        case 1:
            return banner(text(chance))
        case _:
            return did(chance.choice(NAMES), value(chance), text(chance))


def item(chance: random.Random) -> dict[str, Any]:
    """Returns an item of Codex's."""
    members = dict(zip(MEMBERS, [value(chance) for _ in MEMBERS], strict=True))
    return {"id": "i", **members, "type": chance.choice(NAMES)}
