"""Runs the life of a thread whose daemon is killed again and again."""

from collections.abc import Callable
from typing import Any, Protocol

import anyio
import msgspec
from trimpoint.config.sections import DiscardSection
from trimpoint.testkit import codex_overrides

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon_process import daemon_process


class KilledLife(Protocol):
    """`look` runs a turn and checks what the model was sent; `strike` gives a command, and kills
    the daemon while it is carried out. `log` says what was done.
    """

    log: list[str]

    async def talk(self, client: Any) -> Conversation: ...

    async def look(self, talk: Conversation) -> None: ...

    async def strike(self, talk: Conversation, daemon: Any) -> None: ...


async def live(
    begin: Callable[[Harness, AnswersByPrompt, int], KilledLife], seed: int, kills: int
) -> None:
    """Runs a life that begins with `begin`; everything in its context may be discarded."""
    script = AnswersByPrompt()
    async with opened_harness(codex_overrides, script) as harness:
        floor = DiscardSection(floor_tokens=1, target_tokens=1)
        harness.config = msgspec.structs.replace(harness.config, discard=floor)
        life = begin(harness, script, seed)
        try:
            for _ in range(kills + 1):
                async with daemon_process(harness) as daemon, harness.client() as client:
                    with anyio.fail_after(SCENARIO_S):
                        talk = await life.talk(client)
                        await life.look(talk)
                        await life.look(talk)
                        await life.strike(talk, daemon)
        except BaseException as error:
            error.add_note(f"seed {seed}, after {life.log}")
            error.add_note((harness.home / "daemon.log").read_text()[-3000:])
            raise
