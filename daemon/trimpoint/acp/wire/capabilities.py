"""The capabilities of the editor and of the agent. The editor is only sent what it supports."""

from typing import Any, NamedTuple

from trimpoint_protocol.lenient import as_dict


class Capabilities(NamedTuple):
    """What the editor supports. `terminal_output`: terminals drawn from `_meta`, as Zed does;
    `terminal_login`: it can run a program for the login.
    """

    compaction: bool = False
    notices: bool = False
    form: bool = False
    url: bool = False
    terminal_output: bool = False
    terminal_login: bool = False


def capabilities_in(offered: Any) -> Capabilities:
    """Reads `clientCapabilities`; a member that does not have the type of the schema counts as
    absent.
    """
    top = as_dict(offered)
    session, elicitation = as_dict(top.get("session")), as_dict(top.get("elicitation"))
    return Capabilities(
        compaction=_is_offered(session.get("compaction")),
        notices=_is_offered(session.get("notices")),
        form=_is_offered(elicitation.get("form")),
        url=_is_offered(elicitation.get("url")),
        terminal_output=as_dict(top.get("_meta")).get("terminal_output") is True,
        terminal_login=as_dict(top.get("auth")).get("terminal") is True,
    )


def agent_capabilities() -> dict[str, Any]:
    """Returns the capabilities of this agent."""
    return {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
        "mcpCapabilities": {"http": True, "sse": False},
        "sessionCapabilities": {
            "list": {},
            "delete": {},
            "resume": {},
            "close": {},
            "additionalDirectories": {},
        },
        "auth": {"logout": {}},
    }


def _is_offered(value: Any) -> bool:
    return isinstance(value, dict) or value is True
