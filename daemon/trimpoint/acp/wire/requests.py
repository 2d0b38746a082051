"""Requests of an editor. Unknown members are ignored, as ACP wants it."""

from typing import Any

import msgspec

AnyBlock = dict[str, Any]


class Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Parameters of a request or a notification."""


class InitializeParams(Params, frozen=True, kw_only=True):
    """Read leniently: two editors send the version as a string."""

    protocol_version: Any
    client_capabilities: Any = None
    client_info: Any = None


class AuthenticateParams(Params, frozen=True, kw_only=True):
    """`method_id` is one of those that `initialize` named."""

    method_id: str


class NoParams(Params, frozen=True, kw_only=True):
    """Nothing is needed."""


class NewSessionParams(Params, frozen=True, kw_only=True):
    """`cwd` is absolute."""

    cwd: str
    mcp_servers: list[dict[str, Any]] = []
    additional_directories: list[str] | None = None


class OpenSessionParams(NewSessionParams, frozen=True, kw_only=True):
    """Of `session/load` and `session/resume`."""

    session_id: str


class ListSessionsParams(Params, frozen=True, kw_only=True):
    """`cwd`: only sessions of this folder."""

    cwd: str | None = None
    cursor: str | None = None


class SessionParams(Params, frozen=True, kw_only=True):
    """Names a session."""

    session_id: str


class SetModeParams(SessionParams, frozen=True, kw_only=True):
    """`mode_id` is one of the session's modes."""

    mode_id: str


class SetOptionParams(SessionParams, frozen=True, kw_only=True):
    """`value` is one of the option's."""

    config_id: str
    value: Any


class PromptParams(SessionParams, frozen=True, kw_only=True):
    """`prompt` is a list of content blocks."""

    prompt: list[AnyBlock]


class CancelRequestParams(Params, frozen=True, kw_only=True):
    """Names a request by its id."""

    request_id: msgspec.Raw


class Outcome(Params, frozen=True, kw_only=True):
    """Which option a person chose; `outcome` is "selected" or "cancelled"."""

    outcome: str
    option_id: str | None = None


class PermissionAnswer(Params, frozen=True, kw_only=True):
    """The editor's answer to `session/request_permission`."""

    outcome: Outcome


class ElicitationAnswer(Params, frozen=True, kw_only=True):
    """The editor's answer to `elicitation/create`."""

    action: str
    content: dict[str, Any] | None = None
