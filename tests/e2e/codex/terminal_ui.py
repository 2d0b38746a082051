"""Requests as Codex's own terminal UI sends them (docs/codex-tui.md)."""

from collections.abc import Callable
from typing import Any

from trimpoint.cli.connection.client import Client

from tests.e2e.conftest import Harness

TUI = "codex-tui"


async def begun(harness: Harness, client: Client, **params: object) -> str:
    answer = await client.request(
        "thread/start", cwd=str(harness.worktree), historyMode="paginated", **params
    )
    return str(answer["thread"]["id"])


def text_input(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text, "text_elements": []}]


def is_method(method: str) -> Callable[[dict[str, Any]], bool]:
    return lambda message: message.get("method") == method
