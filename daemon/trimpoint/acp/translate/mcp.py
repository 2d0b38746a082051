"""The MCP servers of an editor as configuration of Codex."""

import re
from typing import Any

from trimpoint.acp.json_access import Json, as_list, as_objects, as_text


class BadServer(Exception):
    """A server is of a kind that was not offered; the text says which."""


def mcp_config(servers: list[Json]) -> dict[str, Any]:
    """Returns the servers as members of `config`, by `mcp_servers.NAME`.

    :raises BadServer: a server cannot be used.
    """
    config: dict[str, Any] = {}
    for server in servers:
        name = _safe_name(as_text(server.get("name")))
        while f"mcp_servers.{name}" in config:
            name += "_"
        config[f"mcp_servers.{name}"] = _server(server)
    return config


def server_names(config: dict[str, Any]) -> set[str]:
    """Returns the names that Codex knows the servers by."""
    return {key.removeprefix("mcp_servers.") for key in config if key.startswith("mcp_servers.")}


def _server(server: Json) -> dict[str, Any]:
    kind = server.get("type")
    if kind == "http":
        headers = {
            as_text(one.get("name")): as_text(one.get("value"))
            for one in as_objects(server.get("headers"))
        }
        return {
            "url": as_text(server.get("url")),
            "enabled": True,
            **({"http_headers": headers} if headers else {}),
        }
    if kind not in (None, "stdio"):
        raise BadServer(
            f"The MCP server {server.get('name')!r} is of the type {kind!r}; "
            "Codex takes stdio and http."
        )
    env = {
        as_text(one.get("name")): as_text(one.get("value")) for one in as_objects(server.get("env"))
    }
    return {
        "command": as_text(server.get("command")),
        "args": [str(one) for one in as_list(server.get("args"))],
        "enabled": True,
        **({"env": env} if env else {}),
    }


def _safe_name(name: str) -> str:
    """Returns a name that Codex takes: letters, digits, `_` and `-`."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "server"
