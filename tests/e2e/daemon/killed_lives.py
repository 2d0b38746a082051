"""Runs the life of a thread whose daemon is killed again and again."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio
import msgspec
from trimpoint.cli.connection.client import ConnectionLost, RemoteError
from trimpoint.config.sections import DiscardSection
from trimpoint.testkit import codex_overrides
from trimpoint.threads.ids import new_uuid7

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import AnswersByPrompt, Conversation
from tests.e2e.daemon_process import daemon_process, kill

State = TypeVar("State")


class KilledLife(ABC, Generic[State]):
    """A thread whose daemon is killed again and again. `possible` are the states that it may be in
    at present, `said` counts its turns, and `log` says what was done.
    """

    def __init__(self, harness: Harness, script: AnswersByPrompt, seed: int, first: State) -> None:
        self.harness, self.script = harness, script
        self.chance = random.Random(seed)
        self.possible = [first]
        self.thread_id = ""
        self.said = 0
        self.log: list[str] = []

    @abstractmethod
    async def look(self, talk: Conversation) -> None:
        """Runs a turn and checks what the model was sent."""

    @abstractmethod
    async def strike(self, talk: Conversation, daemon: Any) -> None:
        """Gives a command, and kills the daemon while it is carried out."""

    async def talk(self, client: Any) -> Conversation:
        """Returns the conversation, which is begun at the first call."""
        model, worktree = self.harness.model, self.harness.worktree
        if not self.thread_id:
            begun = await Conversation.begin(client, worktree, model, self.script)
            self.thread_id = begun.thread_id
        return Conversation(client, self.thread_id, model, self.script)

    async def kill_during(
        self,
        command: dict[str, Any],
        after: State,
        talk: Conversation,
        daemon: Any,
        longest_s: float,
        *,
        is_done_when_answered: bool = True,
    ) -> None:
        """Gives a command that leads to the state `after`, and kills the daemon at a random instant
        in the next `longest_s` seconds.
        """
        instant_s = self.chance.random() * longest_s
        is_done = False
        with anyio.move_on_after(instant_s):
            try:
                full = {**command, "commandId": new_uuid7(), "threadId": self.thread_id}
                await talk.client.request("orchestration/dispatch", command=full)
                if not is_done_when_answered:
                    await anyio.sleep_forever()
                is_done = True
            except ConnectionLost:
                pass
            except RemoteError as error:
                self.log.append(f"{command} refused: {error}")
                raise
        await kill(daemon)
        self.log.append(f"{command} after {instant_s:.3f} s{': acknowledged' * is_done}")
        self.possible = [after] if is_done else [self.possible[0], after]


async def live(
    begin: Callable[[Harness, AnswersByPrompt, int], KilledLife[Any]], seed: int, kills: int
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
