"""Parameters of an editor's requests and notifications. Unknown members are ignored, as ACP
requires.
"""

from typing import Any

import msgspec

AnyBlock = dict[str, Any]


class Params(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The base of all parameters."""


class InitializeParams(Params, frozen=True, kw_only=True):
    """The parameters of `initialize`. The version may have any type, because two editors send it as
    a string.
    """

    protocol_version: Any
    client_capabilities: Any = None
    client_info: Any = None


class AuthenticateParams(Params, frozen=True, kw_only=True):
    """The parameters of `authenticate`; `method_id` is one that `initialize` returned."""

    method_id: str


class NoParams(Params, frozen=True, kw_only=True):
    """Parameters without members."""


class NewSessionParams(Params, frozen=True, kw_only=True):
    """The parameters of `session/new`; `cwd` is an absolute path."""

    cwd: str
    mcp_servers: list[dict[str, Any]] = []
    additional_directories: list[str] | None = None


class OpenSessionParams(NewSessionParams, frozen=True, kw_only=True):
    """The parameters of `session/load` and `session/resume`."""

    session_id: str


class ListSessionsParams(Params, frozen=True, kw_only=True):
    """The parameters of `session/list`; `cwd` limits the list to sessions of this folder."""

    cwd: str | None = None
    cursor: str | None = None


class SessionParams(Params, frozen=True, kw_only=True):
    """Parameters that only name a session."""

    session_id: str


class SetModeParams(SessionParams, frozen=True, kw_only=True):
    """The parameters of `session/set_mode`; `mode_id` is one of the session's modes."""

    mode_id: str


class SetOptionParams(SessionParams, frozen=True, kw_only=True):
    """The parameters of `session/set_config_option`; `value` is one of the option's values."""

    config_id: str
    value: Any


class PromptParams(SessionParams, frozen=True, kw_only=True):
    """The parameters of `session/prompt`; `prompt` is a list of content blocks."""

    prompt: list[AnyBlock]


class CancelRequestParams(Params, frozen=True, kw_only=True):
    """The parameters of `$/cancel_request`, which names a request by its id."""

    request_id: msgspec.Raw


class Outcome(Params, frozen=True, kw_only=True):
    """The choice of a person; `outcome` is "selected" or "cancelled"."""

    outcome: str
    option_id: str | None = None


class PermissionAnswer(Params, frozen=True, kw_only=True):
    """The editor's answer to `session/request_permission`."""

    outcome: Outcome


class ElicitationAnswer(Params, frozen=True, kw_only=True):
    """The editor's answer to `elicitation/create`."""

    action: str
    content: dict[str, Any] | None = None
