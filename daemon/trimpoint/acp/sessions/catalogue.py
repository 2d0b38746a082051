"""Data that all sessions share: the models, the slash commands, and whether Codex needs a login."""

import asyncio

from trimpoint_protocol.lenient import Json, as_text

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.peer import RpcError
from trimpoint.acp.translate.commands import available_commands
from trimpoint.acp.translate.settings import Model, models_in
from trimpoint.acp.wire.updates import AvailableCommands

MODELS_DEADLINE_S = 3.0
_MAX_PAGES = 20


class Catalogue:
    """The shared data, requested once per connection to the daemon."""

    def __init__(self, link: DaemonLink) -> None:
        self._link = link
        self._models: tuple[int, list[Model]] = (0, [])
        self._commands: tuple[int, AvailableCommands] = (
            0,
            AvailableCommands(available_commands=[]),
        )

    @property
    def known_models(self) -> list[Model]:
        """Returns the models that were last received; empty before the first request."""
        return self._models[1]

    async def models(self) -> list[Model]:
        """Returns the models that can be chosen; empty if Codex does not answer in time."""
        epoch, known = self._models
        if epoch != self._link.epoch or not known:
            try:
                async with asyncio.timeout(MODELS_DEADLINE_S):
                    known = await self._listed_models()
            except (RpcError, TimeoutError):
                known = []
            self._models = self._link.epoch, known
        return known

    async def commands(self) -> AvailableCommands:
        """Returns the slash commands.

        :raises RpcError: when the daemon cannot be reached.
        """
        epoch, known = self._commands
        if epoch != self._link.epoch or not known.available_commands:
            known = available_commands(await self._link.request("commands/list"))
            self._commands = self._link.epoch, known
        return known

    async def needs_login(self) -> bool:
        """Returns whether Codex needs a login before it can be used.

        :raises RpcError: when the daemon cannot be reached, or Codex does not answer.
        """
        answer = await self._link.request("account/read")
        return bool(answer.get("requiresOpenaiAuth")) and answer.get("account") is None

    async def _listed_models(self) -> list[Model]:
        pages: list[Json] = []
        cursor: str | None = None
        while len(pages) < _MAX_PAGES:
            pages.append(await self._link.request("model/list", cursor=cursor))
            cursor = as_text(pages[-1].get("nextCursor"))
            if not cursor:
                break
        return models_in(pages)
