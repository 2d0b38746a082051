"""The MCP servers that an editor gave a session: whether Codex has started them."""

import asyncio
from typing import Any

from trimpoint.acp.json_access import Json, as_text
from trimpoint.acp.translate.mcp import server_names

STARTED_DEADLINE_S = 15.0
"""How long the first prompt waits for servers to start."""
_OVER = frozenset({"ready", "failed", "cancelled"})


class McpServers:
    """`config` is what Codex is given; see `mcp_config`."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self._starting = server_names(config)
        self._started = asyncio.Event()
        if not self._starting:
            self._started.set()

    def heard(self, params: Json) -> str | None:
        """Take what Codex says of a server, and return what a person should know of it."""
        name, status = as_text(params.get("name")), as_text(params.get("status"))
        if status in _OVER:
            self._starting.discard(name)
        if not self._starting:
            self._started.set()
        if status != "failed":
            return None
        return f"The MCP server {name} did not start.\n{as_text(params.get('error'))}"

    async def started(self) -> None:
        """Return when all have started or failed, or it takes too long; from then on nothing waits
        for them.
        """
        try:
            async with asyncio.timeout(STARTED_DEADLINE_S):
                await self._started.wait()
        except TimeoutError:
            self._started.set()
