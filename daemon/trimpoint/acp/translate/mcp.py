"""Translates an editor's MCP servers to Codex's configuration."""

import re
from typing import Any

from trimpoint_protocol.lenient import Json, as_dicts, as_list, as_text


class BadServer(Exception):
    """Raised for an MCP server whose transport is not supported; the text names it."""


def mcp_config(servers: list[Json]) -> dict[str, Any]:
    """Returns the servers as members of Codex's `config`, with the keys `mcp_servers.NAME`.

    :raises BadServer: when a server's transport is not supported.
    """
    config: dict[str, Any] = {}
    for server in servers:
        name = _safe_name(as_text(server.get("name")))
        while f"mcp_servers.{name}" in config:
            name += "_"
        config[f"mcp_servers.{name}"] = _server(server)
    return config


def server_names(config: dict[str, Any]) -> set[str]:
    """Returns the names of the servers in a configuration of `mcp_config`."""
    return {key.removeprefix("mcp_servers.") for key in config if key.startswith("mcp_servers.")}


def _server(server: Json) -> dict[str, Any]:
    kind = server.get("type")
    if kind == "http":
        headers = {
            as_text(one.get("name")): as_text(one.get("value"))
            for one in as_dicts(server.get("headers"))
        }
        return {
            "url": as_text(server.get("url")),
            "enabled": True,
            **({"http_headers": headers} if headers else {}),
        }
    if kind not in (None, "stdio"):
        raise BadServer(
            f"The MCP server {server.get('name')!r} is of the type {kind!r}; "
            "Codex supports only stdio and http."
        )
    env = {
        as_text(one.get("name")): as_text(one.get("value")) for one in as_dicts(server.get("env"))
    }
    return {
        "command": as_text(server.get("command")),
        "args": [str(one) for one in as_list(server.get("args"))],
        "enabled": True,
        **({"env": env} if env else {}),
    }


def _safe_name(name: str) -> str:
    """Returns `name` with all characters replaced by `_` that Codex does not accept: letters,
    digits, `_` and `-` stay.
    """
    return re.sub(r"[^A-Za-z0-9_-]", "_", name) or "server"
