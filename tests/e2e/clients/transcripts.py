"""Scenarios that are run with Codex itself and through the daemon."""

from typing import Any

from tests.e2e.conftest import Harness
from tests.e2e.dialect import Transcript


async def begun(talk: Transcript, harness: Harness, **params: Any) -> str:
    settings = {
        "cwd": str(harness.worktree),
        "approvalPolicy": "never",
        "sandbox": "danger-full-access",
        **params,
    }
    answer = await talk.ask("start", "thread/start", **settings)
    thread_id = str(answer["result"]["thread"]["id"])
    # Codex sends it behind the answer, but not always before the next answer.
    await talk.wire.until(
        lambda one: (
            one.get("method") == "thread/started" and one["params"]["thread"]["id"] == thread_id
        )
    )
    return thread_id


READS: list[tuple[str, str, dict[str, Any]]] = [
    ("read", "thread/read", {}),
    ("read turns", "thread/read", {"includeTurns": True}),
    ("turns", "thread/turns/list", {}),
    ("turns upwards", "thread/turns/list", {"sortDirection": "asc", "itemsView": "notLoaded"}),
    ("turns in full", "thread/turns/list", {"itemsView": "full"}),
    ("items", "thread/items/list", {}),
    ("items downwards", "thread/items/list", {"sortDirection": "desc", "limit": 2}),
]


INPUT = [{"type": "text", "text": "hello"}]
