"""Tracks whether Codex has started the MCP servers that an editor configured for a session."""

import asyncio
from typing import Any

from trimpoint_protocol.lenient import Json, as_text

from trimpoint.acp.translate.mcp import server_names

STARTED_DEADLINE_S = 15.0
"""How long the first prompt waits for servers to start."""
_OVER = frozenset({"ready", "failed", "cancelled"})


class McpServers:
    """The MCP servers of a session. `config` is their configuration for Codex; see `mcp_config`."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self._starting = server_names(config)
        self._started = asyncio.Event()
        if not self._starting:
            self._started.set()

    def on_status(self, params: Json) -> str | None:
        """Handles a status message about a server. Returns an error text for the person if the
        server failed to start, otherwise None.
        """
        name, status = as_text(params.get("name")), as_text(params.get("status"))
        if status in _OVER:
            self._starting.discard(name)
        if not self._starting:
            self._started.set()
        if status != "failed":
            return None
        return f"The MCP server {name} did not start.\n{as_text(params.get('error'))}"

    async def started(self) -> None:
        """Waits until all servers have started or failed, or until a deadline has passed; after
        that, later calls return at once.
        """
        try:
            async with asyncio.timeout(STARTED_DEADLINE_S):
                await self._started.wait()
        except TimeoutError:
            self._started.set()
