"""A thread's settings, and how a new generation is given them as they stand (spec §4, "Carried over").

Kept as one JSON object: `start` holds the parameters the thread was started with, `current` Codex's own `threadSettings`
once it has reported any, a turn's overrides included. `model` is the one that Codex said it would take; it is told, not set.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trimpoint.core.model.lenient import as_dict
from trimpoint.core.model.usage import COMPACT_LIMIT

# What belongs to one call and not to the thread. Raw events are ours to switch on; history mode is the provider's own affair.
PER_CALL = frozenset(
    {"experimentalRawEvents", "historyMode", "ephemeral", "sessionStartSource", "threadId", "path", "history", "excludeTurns",
     "beforeTurnId", "lastTurnId", "initialTurnsPage", "attachToSource", "deferGoalContinuation"}
)  # fmt: skip
# Members of `threadSettings` that `thread/settings/update` takes under the same name.
UPDATABLE = (
    "approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd", "disabledPluginIds", "effort", "model", "personality",
    "sandboxPolicy", "serviceTier", "summary",
)  # fmt: skip


def initial_settings(start_params: dict[str, Any], cwd: str, model: str | None = None, *, agent_tools: bool = False) -> bytes:
    """Settings of a thread that was started, resumed or forked with `start_params`; `model` is what Codex answered.

    `agent_tools`: among the dynamic tools are those that the daemon itself answers.
    """
    kept = {name: value for name, value in start_params.items() if name not in PER_CALL and value is not None}
    return msgspec.json.encode({"start": {**kept, "cwd": cwd}, "current": None, "model": model, "agentTools": agent_tools})


def has_agent_tools(settings: bytes) -> bool:
    """Whether the agent of a thread with these settings can reduce its context by itself."""
    return bool(msgspec.json.decode(settings).get("agentTools"))


def inherited_params(params: dict[str, Any], parent_settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/fork` with the dynamic tools that the fork has from its parent (measured: 0.163, 0.171)."""
    tools = as_dict(msgspec.json.decode(parent_settings).get("start")).get("dynamicTools")
    return params if tools is None else {"dynamicTools": tools, **params}


def start_params(settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/start` for a new provider thread with these settings."""
    stored = msgspec.json.decode(settings)
    params = dict(as_dict(stored.get("start")))
    current = as_dict(stored.get("current"))
    for name in ("model", "modelProvider", "cwd", "approvalPolicy", "approvalsReviewer", "serviceTier"):
        if current.get(name) is not None:
            params[name] = current[name]
    return params


def update_params(settings: bytes) -> dict[str, Any] | None:
    """Parameters of `thread/settings/update` that bring a new provider thread to the settings as they stand; None if none changed."""
    current = msgspec.json.decode(settings).get("current")
    if not current:
        return None
    return {name: current[name] for name in UPDATABLE if current.get(name) is not None}


def compact_limit(overrides: Iterable[str]) -> int | None:
    """At how many tokens Codex is told by its `-c` values to compact by itself; the last one holds. None when it is not told."""
    limit: int | None = None
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() == COMPACT_LIMIT and value.strip().isdigit():
            limit = int(value)
    return limit


def fork_params(settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/fork` that keep the sandbox and approvals, which a fork otherwise takes from the configuration (measured)."""
    start = as_dict(msgspec.json.decode(settings).get("start"))
    taken = (
        "sandbox",
        "approvalPolicy",
        "approvalsReviewer",
        "permissions",
        "config",
        "baseInstructions",
        "developerInstructions",
    )
    return {name: start[name] for name in taken if start.get(name) is not None}


def working_folder(settings: bytes) -> str:
    """Where the agent works, as the settings stand."""
    return str(start_params(settings).get("cwd") or "")
