"""Results of an editor's requests."""

from typing import Any, Literal

import msgspec

from trimpoint.acp.wire.content import AcpStruct

StopReason = Literal["end_turn", "refusal", "cancelled"]


class Empty(AcpStruct, frozen=True, kw_only=True):
    """A result without members."""


class Mode(AcpStruct, frozen=True, kw_only=True):
    """A mode of a session: what the agent may do without asking."""

    id: str
    name: str
    description: str | None = None


class Modes(AcpStruct, frozen=True, kw_only=True):
    """All modes, and the current one."""

    current_mode_id: str
    available_modes: list[Mode]


class Choice(AcpStruct, frozen=True, kw_only=True):
    """A value of an option."""

    value: str
    name: str
    description: str | None = None


class ConfigOption(AcpStruct, frozen=True, kw_only=True, tag_field="type", tag="select"):
    """An option of a session, with its current and its possible values."""

    id: str
    name: str
    current_value: str
    options: list[Choice]
    category: str | None = None
    description: str | None = None


class Opened(AcpStruct, frozen=True, kw_only=True):
    """The result of `session/load` and `session/resume`."""

    modes: Modes
    config_options: list[ConfigOption]


class NewSession(Opened, frozen=True, kw_only=True):
    """The result of `session/new`."""

    session_id: str


class ListedSession(AcpStruct, frozen=True, kw_only=True):
    """A row of `session/list`."""

    session_id: str
    cwd: str
    title: str | None = None
    updated_at: str | None = None


class SessionList(AcpStruct, frozen=True, kw_only=True):
    """A page of sessions: the result of `session/list`."""

    sessions: list[ListedSession]
    next_cursor: str | None = None


class OptionsSet(AcpStruct, frozen=True, kw_only=True):
    """The result of `session/set_config_option`: all options."""

    config_options: list[ConfigOption]


class PromptEnded(AcpStruct, frozen=True, kw_only=True):
    """The result of `session/prompt`. `_meta.trimpoint` has the outcome of a command."""

    stop_reason: StopReason
    meta: dict[str, Any] | None = msgspec.field(name="_meta", default=None)


class AuthMethod(AcpStruct, frozen=True, kw_only=True):
    """A way to log in. `type` is "terminal" if the editor has to run a program for it."""

    id: str
    name: str
    description: str | None = None
    type: str | None = None
    args: list[str] | None = None


class Implementation(AcpStruct, frozen=True, kw_only=True):
    """The name and version of the agent."""

    name: str
    title: str
    version: str


class Initialized(AcpStruct, frozen=True, kw_only=True):
    """The result of `initialize`."""

    protocol_version: int
    agent_capabilities: dict[str, Any]
    auth_methods: list[AuthMethod]
    agent_info: Implementation
