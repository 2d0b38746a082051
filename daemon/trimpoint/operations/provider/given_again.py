"""Parameters that are given to Codex whenever it loads or forks a thread, because it would take
their values from its configuration.
"""

from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.operations.provider.settings import (
    SANDBOXES,
    is_of_sandbox,
    names_sandbox,
    present_sandbox,
    start_params,
)

_APPROVALS = ("approvalPolicy", "approvalsReviewer")
_INSTRUCTIONS = ("baseInstructions", "developerInstructions")
# Start parameters that a new Codex process takes from the configuration unless they are given
# again (measured).
_GIVEN_AT_START = (*_APPROVALS, "config", *_INSTRUCTIONS)
_GIVEN_WITH_CONFIG = ("config", *_APPROVALS, *SANDBOXES)
_OF_THE_MODEL = ("model", "modelProvider", "serviceTier")
# The name of the reasoning effort in a thread's configuration.
_EFFORT = "model_reasoning_effort"


def fork_params(settings: bytes) -> dict[str, Any]:
    """Returns the parameters of `thread/fork` that keep the thread's model, provider, effort,
    sandbox and approvals. A fork otherwise takes those from the configuration (measured: 0.163).
    """
    return _with_model(settings, _as_given(settings))


def resume_params(
    settings: bytes, asked: dict[str, Any], *, forgets_settings: bool
) -> dict[str, Any]:
    """Returns the parameters of `thread/resume` that keep the thread's settings, beside those that
    a client has `asked` for.

    A Codex that `forgets_settings` takes sandbox, approvals and instructions from the
    configuration. Every Codex forgets the configuration that a thread was started with; one that is
    given a configuration takes model and sandbox from it too; and without one it loads a thread
    that may write to its workspace as one that may only read (measured: 0.133 to 0.171).
    """
    known = _as_given(settings)
    if not forgets_settings:
        names = _GIVEN_WITH_CONFIG if "config" in known else ()
        known = {
            name: value
            for name, value in known.items()
            if name in names or value == "workspace-write"
        }
    if names_sandbox(asked):
        known = {name: value for name, value in known.items() if name not in SANDBOXES}
    overrides = as_dict(asked.get("config"))
    if asked.get("model") is None and not overrides and "config" in known:
        return {**_with_model(settings, known), **asked}
    known = with_effort(known, None)
    kept = {
        name: value
        for name, value in as_dict(known.pop("config", None)).items()
        if not (names_sandbox(asked) and is_of_sandbox(name))
    }
    config = {**kept, **overrides}
    return {**known, **asked, **({"config": config} if config else {})}


def params_of_fork(settings: bytes, asked: dict[str, Any]) -> dict[str, Any]:
    """Returns the parameters of a client's `thread/fork`, with those approvals and instructions of
    the origin that it does not set: older versions take them from the configuration (measured:
    0.133 and 0.144; 0.153 the instructions).
    """
    known = _as_given(settings)
    names = [name for name in (*_APPROVALS, *_INSTRUCTIONS) if asked.get(name) is None]
    return {**asked, **{name: known[name] for name in names if name in known}}


def _as_given(settings: bytes) -> dict[str, Any]:
    """Returns the start parameters in `_GIVEN_AT_START` and the sandbox, with the present values of
    the sandbox and the approvals.
    """
    start, now = as_dict(msgspec.json.decode(settings).get("start")), start_params(settings)
    given = {name: start[name] for name in _GIVEN_AT_START if start.get(name) is not None}
    approvals = {name: now[name] for name in _APPROVALS if now.get(name) is not None}
    return {**given, **present_sandbox(settings), **approvals}


def _with_model(settings: bytes, params: dict[str, Any]) -> dict[str, Any]:
    now = start_params(settings)
    model = {name: now[name] for name in _OF_THE_MODEL if now.get(name) is not None}
    effort = as_dict(msgspec.json.decode(settings).get("current")).get("effort")
    params = {**params, **model}
    return params if effort is None else with_effort(params, str(effort))


def with_effort(params: dict[str, Any], effort: str | None) -> dict[str, Any]:
    """Returns parameters of `thread/fork` or `thread/resume` with this reasoning effort, or with
    the model's default if it is None.
    """
    config = {
        name: value for name, value in as_dict(params.get("config")).items() if name != _EFFORT
    }
    if effort is not None:
        config[_EFFORT] = effort
    rest = {name: value for name, value in params.items() if name != "config"}
    return {**rest, "config": config} if config else rest
