"""A thread's settings, and the parameters that give them to a provider thread
(docs/spec/sessions.md, "Carried over").

The settings are kept as one JSON object. `start` holds the parameters that the thread was started
with, `current` Codex's own `threadSettings` once it has reported them, including a turn's
overrides. `model` is the model that Codex answered with.
"""

from collections.abc import Iterable
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.notifications.settings_reports import without_awaited
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import COMPACT_LIMIT, has_agent_tools
from trimpoint.core.views.history_tools import with_history_size
from trimpoint.operations.provider.collaboration_modes import (
    MODE,
    changed_with_mode,
    is_default_mode,
    is_same_mode,
)

# Parameters of one call that are no settings of the thread. Raw events are switched on by the
# daemon; the history mode belongs to the provider.
PER_CALL = frozenset(
    {
        "experimentalRawEvents",
        "historyMode",
        "ephemeral",
        "sessionStartSource",
        "threadId",
        "path",
        "history",
        "excludeTurns",
        "beforeTurnId",
        "lastTurnId",
        "initialTurnsPage",
        "attachToSource",
        "deferGoalContinuation",
    }
)
# Members of `threadSettings` that `thread/settings/update` takes under the same name.
UPDATABLE = (
    "approvalPolicy", "approvalsReviewer", "collaborationMode", "cwd", "disabledPluginIds",
    "effort", "model", "permissions", "personality", "sandboxPolicy", "serviceTier", "summary",
)  # fmt: skip


# Members of Codex's answers to `thread/resume` and `thread/fork`, and their names in
# `threadSettings`.
ANSWERED = {
    "approvalPolicy": "approvalPolicy",
    "approvalsReviewer": "approvalsReviewer",
    "sandbox": "sandboxPolicy",
    "activePermissionProfile": "activePermissionProfile",
    "cwd": "cwd",
    "model": "model",
    "modelProvider": "modelProvider",
    "serviceTier": "serviceTier",
    "reasoningEffort": "effort",
    "collaborationMode": "collaborationMode",
    "disabledPluginIds": "disabledPluginIds",
}
# Members of `threadSettings`, and of requests that set them, that give permissions; the newest of
# them applies.
_NAMES_OF_PERMISSIONS = ("sandboxPolicy", "permissions", "activePermissionProfile")
# Only one of these names the sandbox of a thread.
SANDBOXES = ("sandbox", "permissions")


def initial_settings(
    start_params: dict[str, Any],
    cwd: str,
    model: str | None = None,
    *,
    agent_tools: bool = False,
    answer: dict[str, Any] | None = None,
) -> bytes:
    """Returns the settings of a thread that was started, resumed or forked with `start_params`.
    `model` is the model that Codex answered with.

    `agent_tools` tells whether the dynamic tools include the agent tools. `answer` is Codex's
    answer to `thread/resume` or `thread/fork`, which has settings that the parameters lack.
    """
    current = settings_in(answer) if answer is not None else None
    start = {**lasting(start_params), "cwd": cwd}
    return msgspec.json.encode(
        {"start": start, "current": current, "model": model, "agentTools": agent_tools}
    )


def lasting(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of `thread/start`, `thread/resume` or `thread/fork` that are settings
    of the thread.
    """
    return {
        name: value for name, value in params.items() if name not in PER_CALL and value is not None
    }


def settings_in(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings in Codex's answer to `thread/resume` or `thread/fork`, with their names
    in `threadSettings`.
    """
    return {name: answer[told] for told, name in ANSWERED.items() if told in answer}


def in_force(settings: bytes, answer: dict[str, Any]) -> dict[str, Any]:
    """Returns Codex's answer to `thread/start`, updated with the present settings."""
    current = as_dict(msgspec.json.decode(settings).get("current"))
    now = {
        told: current[name] for told, name in ANSWERED.items() if told in answer and name in current
    }
    return {**answer, **now}


def resumed_settings(settings: bytes, params: dict[str, Any], answer: dict[str, Any]) -> bytes:
    """Returns `settings` updated after a `thread/resume` with `params` that loaded the thread and
    was answered with `answer`.

    Instructions and configuration are not in any answer, so they are taken from `params`; Codex
    does not store them (measured: 0.163).
    """
    stored = _settled(msgspec.json.decode(settings))
    current = {**as_dict(stored.get("current")), **settings_in(answer)}
    model = answer.get("model") or stored.get("model")
    return msgspec.json.encode(
        {**stored, "start": _start_with(stored, params), "current": current, "model": model}
    )


def overridden_settings(settings: bytes, params: dict[str, Any]) -> bytes:
    """Returns `settings` updated with the `params` of a `thread/resume`, for a provider thread that
    has not been started yet.
    """
    stored = without_awaited(msgspec.json.decode(settings))
    given = lasting(params)
    gone = set(given)
    if names_sandbox(given):
        gone |= {"sandboxPolicy", "activePermissionProfile"}
    if "model" in given or "config" in given:
        gone |= {
            "effort",
            "collaborationMode",
        }  # as in Codex: another model begins with its own effort (measured: 0.163)
    current = {
        name: value for name, value in as_dict(stored.get("current")).items() if name not in gone
    }
    model = given.get("model") or stored.get("model")
    return msgspec.json.encode(
        {**stored, "start": _start_with(stored, params), "current": current or None, "model": model}
    )


def names_sandbox(params: dict[str, Any]) -> bool:
    """Returns whether parameters of a request name a sandbox, or in a configuration something of
    it.
    """
    return any(params.get(name) is not None for name in SANDBOXES) or any(
        is_of_sandbox(name) for name in as_dict(params.get("config"))
    )


def is_of_sandbox(name: str) -> bool:
    """Returns whether a name of the configuration is one of the sandbox."""
    return name.startswith(("sandbox_", "permissions", "default_permissions"))


def _start_with(stored: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    start, given = as_dict(stored.get("start")), lasting(params)
    if any(name in given for name in SANDBOXES):
        start = {name: value for name, value in start.items() if name not in SANDBOXES}
    if "config" in given:
        given["config"] = {**as_dict(start.get("config")), **as_dict(given["config"])}
    return {**start, **given}


def with_unconfirmed(settings: bytes, changes: dict[str, Any]) -> bytes:
    """Returns `settings` with changes that Codex acknowledged. Until a turn has run with them,
    Codex may forget them when it ends, reported or not (measured: 0.153, 0.163).

    They are kept as `acknowledged` until Codex reports them, because an earlier report may still
    arrive (`codex/notifications/settings_reports.py`).
    """
    stored = msgspec.json.decode(settings)
    stored.pop("reported", None)
    current = _changed(as_dict(stored.get("current")), changes)
    awaited = _changed(as_dict(stored.pop("acknowledged", None)), changes)
    if awaited:
        stored["acknowledged"] = awaited
    return msgspec.json.encode({**stored, "current": current, "unconfirmed": True})


def _changed(now: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    gone = _NAMES_OF_PERMISSIONS if not changes.keys().isdisjoint(_NAMES_OF_PERMISSIONS) else ()
    kept = {name: value for name, value in now.items() if name not in gone}
    return changed_with_mode(kept, changes)


def acknowledged_changes(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings that `thread/settings/update` or `turn/start` with `params` changes."""
    return {name: params[name] for name in UPDATABLE if params.get(name) is not None}


def awaits_report(settings: bytes) -> bool:
    """Returns whether Codex has acknowledged changes that it has not reported yet."""
    return b'"acknowledged"' in settings and "acknowledged" in msgspec.json.decode(settings)


def with_memory_mode(settings: bytes, mode: str) -> bytes:
    """Returns `settings` with the thread's memory mode. Codex reports it nowhere, so it is kept
    here.
    """
    return msgspec.json.encode({**msgspec.json.decode(settings), "memoryMode": mode})


def memory_mode(settings: bytes) -> str | None:
    """Returns the mode that `thread/memoryMode/set` has set, or None when it was never called."""
    mode = msgspec.json.decode(settings).get("memoryMode")
    return str(mode) if mode is not None else None


def is_confirmed(settings: bytes) -> bool:
    """Returns whether Codex has run a turn with the settings as they stand."""
    return not msgspec.json.decode(settings).get("unconfirmed")


def _settled(stored: dict[str, Any]) -> dict[str, Any]:
    return without_awaited({name: stored[name] for name in stored if name != "unconfirmed"})


def inherited_params(params: dict[str, Any], parent_settings: bytes) -> dict[str, Any]:
    """Returns the parameters of `thread/fork`, with the instructions and dynamic tools that the
    fork inherits from its parent (measured: 0.163, 0.171).
    """
    start = as_dict(msgspec.json.decode(parent_settings).get("start"))
    inherited = {name: start[name] for name in _BEGINNINGS if start.get(name) is not None}
    return {**inherited, **lasting(params)}


def start_params(settings: bytes) -> dict[str, Any]:
    """Returns the parameters of `thread/start` for a new provider thread with these settings."""
    stored = msgspec.json.decode(settings)
    params = dict(as_dict(stored.get("start")))
    current = as_dict(stored.get("current"))
    for name in (
        "model",
        "modelProvider",
        "cwd",
        "approvalPolicy",
        "approvalsReviewer",
        "serviceTier",
    ):
        if current.get(name) is not None:
            params[name] = current[name]
    return params


def session_params(state: ThreadState) -> dict[str, Any]:
    """Returns the parameters of `thread/start` for a new provider thread of this thread. The
    history tools' descriptions tell the agent how much it can look up.
    """
    params = start_params(state.settings)
    if has_agent_tools(state.settings):
        params["dynamicTools"] = with_history_size(as_list(params.get("dynamicTools")), state)
    return params


def update_params(
    settings: bytes, model: str | None = None, effort: str | None = None
) -> dict[str, Any]:
    """Returns the parameters of `thread/settings/update` that give a new provider thread the
    present settings, but for another model or reasoning effort if given.

    The default collaboration mode is left out: setting it again would add a message to the context
    (measured: 0.163).
    """
    current = _updatable(settings)
    chosen = {"model": model, "effort": effort}
    others = {name: value for name, value in chosen.items() if value is not None}
    if is_default_mode(current.get(MODE)) or (others and MODE in current):
        del current[MODE]  # it names a model and an effort of its own
    return {**current, **others}


def missing_params(settings: bytes, answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of `thread/settings/update` for the settings that differ in `answer`,
    Codex's answer to `thread/resume`; empty if none do.
    """
    known, wanted = settings_in(answer), _updatable(settings)
    unknown = object()
    missing = {name: value for name, value in wanted.items() if known.get(name, unknown) != value}
    if "effort" in wanted and is_same_mode(known.get(MODE), missing.get(MODE)):
        del missing[MODE]
    return missing


def _updatable(settings: bytes) -> dict[str, Any]:
    current = as_dict(msgspec.json.decode(settings).get("current"))
    return {name: current[name] for name in UPDATABLE if current.get(name) is not None}


# The parameters that a fork inherits from its parent. All others, the model included, come from its
# own parameters and the configuration; so does the sandbox before 0.171 (measured: 0.163, 0.171).
_BEGINNINGS = ("baseInstructions", "developerInstructions", "dynamicTools")
_FORK_INHERITS = ("cwd", "approvalPolicy", "approvalsReviewer", *_BEGINNINGS)
FORKS_INHERIT_SANDBOX = (0, 171, 0)
_SANDBOX_MODES = {
    "readOnly": "read-only",
    "workspaceWrite": "workspace-write",
    "dangerFullAccess": "danger-full-access",
}


def unseen(params: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a fork that only answers a question of ours: it changes nothing,
    and runs no hooks of the person's, who did not give its prompt.
    """
    config = {**as_dict(params.get("config")), "features.hooks": False}
    rights = {"ephemeral": True, "approvalPolicy": "never", "sandbox": "read-only"}
    return {**params, **rights, "config": config}


def fork_as_start_params(
    settings: bytes, params: dict[str, Any], version: tuple[int, ...] | None
) -> dict[str, Any]:
    """Returns the parameters of `thread/start` for a thread like the one that `thread/fork` with
    `params` would make in this version of Codex.
    """
    now = start_params(settings)
    inherited = {name: now[name] for name in _FORK_INHERITS if now.get(name) is not None}
    is_named = any(params.get(name) is not None for name in SANDBOXES)
    if (version or (0,)) >= FORKS_INHERIT_SANDBOX and not is_named:
        inherited |= present_sandbox(settings)
    given = {
        name: value
        for name, value in params.items()
        if value is not None and (name not in PER_CALL or name == "ephemeral")
    }
    return {**inherited, **given}


def present_sandbox(settings: bytes) -> dict[str, Any]:
    """Returns the parameter of `thread/start` that names the sandbox as it is now, if any does."""
    stored = msgspec.json.decode(settings)
    start = as_dict(stored.get("start"))
    policy = as_dict(as_dict(stored.get("current")).get("sandboxPolicy"))
    mode = _SANDBOX_MODES.get(str(policy.get("type")))
    if mode is not None and start.get("permissions") is None:
        return {"sandbox": mode}
    return {name: start[name] for name in SANDBOXES if start.get(name) is not None}


def compact_limit(overrides: Iterable[str]) -> int | None:
    """Returns the number of tokens at which Codex compacts automatically, by its `-c` overrides, of
    which the last one applies. Returns None if they do not set it.
    """
    limit: int | None = None
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() == COMPACT_LIMIT and value.strip().isdigit():
            limit = int(value)
    return limit


def working_folder(settings: bytes) -> str:
    """Returns the agent's present working directory; empty if it is unknown."""
    return str(start_params(settings).get("cwd") or "")
