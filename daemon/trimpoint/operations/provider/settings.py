"""A thread's settings, and how a new generation is given them as they stand (docs/spec/sessions.md,
"Carried over").

Kept as one JSON object: `start` holds the parameters the thread was started with, `current` Codex's
own `threadSettings` once it has reported any, a turn's overrides included. `model` is the one that
Codex said it would take; it is told, not set.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

from trimpoint.core.model.lenient import as_dict, as_list
from trimpoint.core.model.state import ThreadState
from trimpoint.core.model.usage import COMPACT_LIMIT
from trimpoint.core.views.history_tools import told_of_history

# What belongs to one call and not to the thread. Raw events are ours to switch on; history mode is
# the provider's own affair.
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


# What Codex answers to `thread/resume` and `thread/fork`, by the name that `threadSettings` has for
# it.
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
# In the configuration of a thread.
EFFORT = "model_reasoning_effort"
# Members of `threadSettings`, and of a request that sets them, that say what a thread may do: the
# newest of them holds.
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
    """Settings of a thread that was started, resumed or forked with `start_params`; `model` is what
    Codex answered.

    `agent_tools`: among the dynamic tools are those that the daemon itself answers. `answer` is
    Codex's whole answer where the parameters do not say it all: to `thread/resume` or
    `thread/fork`.
    """
    current = settings_in(answer) if answer is not None else None
    start = {**lasting(start_params), "cwd": cwd}
    return msgspec.json.encode(
        {"start": start, "current": current, "model": model, "agentTools": agent_tools}
    )


def lasting(params: dict[str, Any]) -> dict[str, Any]:
    """Returns those parameters of `thread/start`, `resume` or `fork` that set something on the
    thread.
    """
    return {
        name: value for name, value in params.items() if name not in PER_CALL and value is not None
    }


def settings_in(answer: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings that Codex answered to `thread/resume` or `thread/fork`, as
    `threadSettings` names them.
    """
    return {name: answer[told] for told, name in ANSWERED.items() if told in answer}


def in_force(settings: bytes, answer: dict[str, Any]) -> dict[str, Any]:
    """Returns Codex's answer to `thread/start` as one about the settings as they stand now."""
    current = as_dict(msgspec.json.decode(settings).get("current"))
    now = {
        told: current[name] for told, name in ANSWERED.items() if told in answer and name in current
    }
    return {**answer, **now}


def resumed_settings(settings: bytes, params: dict[str, Any], answer: dict[str, Any]) -> bytes:
    """Returns `settings` after Codex loaded the thread with the `params` of a `thread/resume` and
    answered `answer`.

    Instructions and configuration are in no answer, so they come from `params`; Codex keeps none of
    them itself (measured: 0.163).
    """
    stored = _confirmed(msgspec.json.decode(settings))
    current = {**as_dict(stored.get("current")), **settings_in(answer)}
    model = answer.get("model") or stored.get("model")
    return msgspec.json.encode(
        {**stored, "start": _start_with(stored, params), "current": current, "model": model}
    )


def overridden_settings(settings: bytes, params: dict[str, Any]) -> bytes:
    """Returns `settings` with the `params` of a `thread/resume`, for a provider thread that is
    still to be started.
    """
    stored = msgspec.json.decode(settings)
    given = lasting(params)
    gone = set(given)
    if any(name in given for name in SANDBOXES):
        gone |= {"sandboxPolicy", "activePermissionProfile"}
    if "model" in given or "config" in given:
        gone |= {
            "effort",
            "collaborationMode",
        }  # as Codex has it: another model begins with its own effort (measured: 0.163)
    current = {
        name: value for name, value in as_dict(stored.get("current")).items() if name not in gone
    }
    model = given.get("model") or stored.get("model")
    return msgspec.json.encode(
        {**stored, "start": _start_with(stored, params), "current": current or None, "model": model}
    )


def _start_with(stored: dict[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    start, given = as_dict(stored.get("start")), lasting(params)
    if any(name in given for name in SANDBOXES):
        start = {name: value for name, value in start.items() if name not in SANDBOXES}
    if "config" in given:
        given["config"] = {**as_dict(start.get("config")), **as_dict(given["config"])}
    return {**start, **given}


def with_unconfirmed(settings: bytes, changes: dict[str, Any]) -> bytes:
    """Returns `settings` with changes that Codex acknowledged and has not reported yet: killed now,
    it forgets them (measured: 0.163).
    """
    stored = msgspec.json.decode(settings)
    gone = _NAMES_OF_PERMISSIONS if not changes.keys().isdisjoint(_NAMES_OF_PERMISSIONS) else ()
    now = as_dict(stored.get("current"))
    kept = {name: value for name, value in now.items() if name not in gone}
    return msgspec.json.encode({**stored, "current": {**kept, **changes}, "unconfirmed": True})


def with_memory_mode(settings: bytes, mode: str) -> bytes:
    """Returns `settings` with what the thread may do with memories; Codex tells it to no one, so it
    is kept here.
    """
    return msgspec.json.encode({**msgspec.json.decode(settings), "memoryMode": mode})


def memory_mode(settings: bytes) -> str | None:
    """Returns the mode that `thread/memoryMode/set` has set, None when it was never called."""
    mode = msgspec.json.decode(settings).get("memoryMode")
    return str(mode) if mode is not None else None


def is_confirmed(settings: bytes) -> bool:
    """Returns whether Codex has reported the settings as they stand."""
    return not msgspec.json.decode(settings).get("unconfirmed")


def _confirmed(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in stored.items() if name != "unconfirmed"}


def has_agent_tools(settings: bytes) -> bool:
    """Returns whether the agent of a thread with these settings can reduce its context by
    itself.
    """
    return bool(msgspec.json.decode(settings).get("agentTools"))


def inherited_params(params: dict[str, Any], parent_settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/fork` with the instructions and the dynamic tools that the fork has
    from its parent (measured: 0.163, 0.171).
    """
    start = as_dict(msgspec.json.decode(parent_settings).get("start"))
    inherited = {name: start[name] for name in _BEGINNINGS if start.get(name) is not None}
    return {**inherited, **lasting(params)}


def start_params(settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/start` for a new provider thread with these settings."""
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
    """Parameters of `thread/start` for a new provider thread of this thread; its agent is told how
    much it can look up, where it has the tools for it.
    """
    params = start_params(state.settings)
    if has_agent_tools(state.settings):
        params["dynamicTools"] = told_of_history(as_list(params.get("dynamicTools")), state)
    return params


def update_params(settings: bytes) -> dict[str, Any]:
    """Returns parameters of `thread/settings/update` that bring a new provider thread to the
    settings as they stand.

    It begins in the default mode. Set once more, that mode would add a message to what the model
    sees (measured: 0.163), so it is left out.
    """
    current = _updatable(settings)
    if _is_default_mode(current.get("collaborationMode")):
        del current["collaborationMode"]
    return current


def missing_params(settings: bytes, answer: dict[str, Any]) -> dict[str, Any]:
    """Returns parameters of `thread/settings/update` for a provider thread whose settings, by
    Codex's `answer` to `thread/resume`, are not all as they stand here.
    """
    known = settings_in(answer)
    unknown = object()
    return {
        name: value
        for name, value in _updatable(settings).items()
        if known.get(name, unknown) != value
    }


def _updatable(settings: bytes) -> dict[str, Any]:
    current = as_dict(msgspec.json.decode(settings).get("current"))
    return {name: current[name] for name in UPDATABLE if current.get(name) is not None}


def _is_default_mode(mode: Any) -> bool:
    """Returns whether a collaboration mode is the one of every new thread, with Codex's own
    instructions. Its model and effort are members of their own, too.
    """
    within = as_dict(as_dict(mode).get("settings"))
    return as_dict(mode).get("mode") == "default" and not within.get("developer_instructions")


# What a fork has from the thread that it is of, beside its name. All else, the model and the
# sandbox too, it takes from its own parameters and the configuration (measured: 0.163).
_BEGINNINGS = ("baseInstructions", "developerInstructions", "dynamicTools")
_FORK_INHERITS = ("cwd", "approvalPolicy", "approvalsReviewer", *_BEGINNINGS)


def fork_as_start_params(settings: bytes, params: dict[str, Any]) -> dict[str, Any]:
    """Parameters of `thread/start` for a thread like the one that `thread/fork` with `params` would
    make.
    """
    now = start_params(settings)
    inherited = {name: now[name] for name in _FORK_INHERITS if now.get(name) is not None}
    given = {
        name: value
        for name, value in params.items()
        if value is not None and (name not in PER_CALL or name == "ephemeral")
    }
    return {**inherited, **given}


def compact_limit(overrides: Iterable[str]) -> int | None:
    """Returns the token count at which Codex compacts automatically, by its `-c` values; the last
    one holds. None when they do not set it.
    """
    limit: int | None = None
    for override in overrides:
        key, _, value = override.partition("=")
        if key.strip() == COMPACT_LIMIT and value.strip().isdigit():
            limit = int(value)
    return limit


# What of the parameters that a thread was started with a new process of Codex takes from the
# configuration, unless it is told (measured).
_TOLD_AT_START = (
    "sandbox", "approvalPolicy", "approvalsReviewer", "permissions", "config", "baseInstructions",
    "developerInstructions",
)  # fmt: skip


def fork_params(settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/fork` that keep what a fork otherwise takes from the configuration: the
    model with its provider and effort, the sandbox and the approvals (measured: 0.163).
    """
    params = _as_told(settings, "model", "modelProvider", "serviceTier")
    effort = as_dict(msgspec.json.decode(settings).get("current")).get("effort")
    return params if effort is None else with_effort(params, str(effort))


def resume_params(settings: bytes) -> dict[str, Any]:
    """Parameters of `thread/resume` for a Codex that would take the sandbox and the approvals from
    the configuration.
    """
    return _as_told(settings)


def _as_told(settings: bytes, *also: str) -> dict[str, Any]:
    """Returns what was told at the start, but the approvals, and what `also` names, as they are
    now.
    """
    start, now = as_dict(msgspec.json.decode(settings).get("start")), start_params(settings)
    told = {name: start[name] for name in _TOLD_AT_START if start.get(name) is not None}
    current = ("approvalPolicy", "approvalsReviewer", *also)
    return {**told, **{name: now[name] for name in current if now.get(name) is not None}}


def with_effort(params: dict[str, Any], effort: str | None) -> dict[str, Any]:
    """Returns parameters of `thread/fork` with this reasoning effort; None: the model's own."""
    config = {
        name: value for name, value in as_dict(params.get("config")).items() if name != EFFORT
    }
    if effort is not None:
        config[EFFORT] = effort
    rest = {name: value for name, value in params.items() if name != "config"}
    return {**rest, "config": config} if config else rest


def working_folder(settings: bytes) -> str:
    """Returns where the agent works, as the settings stand."""
    return str(start_params(settings).get("cwd") or "")
