"""Collaboration modes among a thread's settings. Pure functions.

A mode contains a model and a reasoning effort of its own, and Codex keeps them equal to the
thread's: a mode that is set brings both, and a model or an effort that is set changes the mode
(measured: 0.163). A mode that is set again with an old effort would bring that back.
"""

from typing import Any

from trimpoint_protocol.lenient import as_dict

MODE = "collaborationMode"
# A thread's settings, and their names within a mode.
_WITHIN = {"model": "model", "effort": "reasoning_effort"}


def changed_with_mode(current: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Returns settings updated with `changes` as Codex does it: the mode, the model and the effort
    agree, and a mode among the changes decides.
    """
    now = {**current, **changes}
    mode = now.get(MODE)
    if not isinstance(mode, dict):
        return now
    within = as_dict(as_dict(mode).get("settings"))
    if MODE in changes:
        return {**now, **{name: within.get(inner) for name, inner in _WITHIN.items()}}
    new = {inner: changes[name] for name, inner in _WITHIN.items() if name in changes}
    if not new:
        return now
    return {**now, MODE: {**as_dict(mode), "settings": {**within, **new}}}


def is_default_mode(mode: Any) -> bool:
    """Returns whether a mode is that of every new thread, with Codex's own instructions. Its model
    and effort are ignored.
    """
    within = as_dict(as_dict(mode).get("settings"))
    return as_dict(mode).get("mode") == "default" and not within.get("developer_instructions")


def is_same_mode(first: Any, second: Any) -> bool:
    """Returns whether two modes differ at most in model and effort, which can be set without the
    mode. Setting it again would add a message to the context (measured: 0.163).
    """
    return isinstance(first, dict) and _without_model(first) == _without_model(second)


def _without_model(mode: Any) -> dict[str, Any]:
    within = as_dict(as_dict(mode).get("settings"))
    rest = {name: value for name, value in within.items() if name not in _WITHIN.values()}
    return {**as_dict(mode), "settings": rest}
