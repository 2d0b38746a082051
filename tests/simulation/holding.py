"""What must hold: at most once, each client is told a legal life of the thread, what was
acknowledged is durable, the ledger has what the model sees, and a daemon without work rests.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Any

import anyio
import msgspec
from trimpoint.core.context.generations import conversation_items
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import busy
from trimpoint.journal.codec.records import decode_record
from trimpoint.operations.phases import is_end_durable
from trimpoint.threads.catalogue import is_unfinished

from tests.gateway.stage import FakeClient
from tests.operations.lives import life_of
from tests.operations.stage import Stage
from tests.simulation.acts import Acts
from tests.simulation.codex import BY_ITSELF, SimulatedCodex
from tests.simulation.messages import text_of
from tests.threads.stage import THREAD, Disk

# Longer than any wait of the daemon that ends by itself.
REST_S = 3_000.0
IDLE_S = 100.0
# Of a prompt in the sentence that says what did not hold.
LONGEST_TEXT = 24


class Broken(AssertionError):
    """Raised when something did not hold."""


class Holding:
    """What one daemon must keep."""

    def __init__(
        self, stage: Stage, codex: SimulatedCodex, disk: Disk, acts: Acts, watcher: FakeClient
    ) -> None:
        self._stage, self._codex, self._disk, self._acts = stage, codex, disk, acts
        self._clients = (stage.client, watcher)
        self._told: list[int] | None = None
        self._running_at_first = disk.written().running_turn_id

    def look_at_request(self, method: str) -> None:
        """Checks, as Codex is asked to begin a turn, that the thread is busy for that and that no
        end of an operation waits for the disk.
        """
        writer = self._stage.registry.loaded(THREAD)
        if method != "turn/start" or writer is None or self._codex.is_daemons_end:
            return
        is_marked = bool(writer.state.turn_requests)
        if not is_marked or not is_end_durable(writer):
            self._acts.broken.append(f"sent early: {is_marked} {is_end_durable(writer)}")

    def freeze(self) -> None:
        """Looks at nothing that clients are told from now on: the daemon was killed."""
        self._told = [len(one.received) for one in self._clients]

    def look_at_clients(self, *, at_rest: bool = False) -> None:
        for number, client in enumerate(self._clients):
            told = client.received[: None if self._told is None else self._told[number]]
            self._acts.begun |= {one["result"]["turn"]["id"] for one in told if _begins_turn(one)}
            life = life_of(told, self._running_at_first)
            self.demand(
                not at_rest or (life.running is None and not life.questions),
                f"a client is left with {life.running} {life.questions}",
            )

    async def comes_to_rest(self) -> None:
        until_s = anyio.current_time() + REST_S
        while not self._rests():
            self.demand(anyio.current_time() < until_s, f"it never rests: {self._why()}")
            await anyio.sleep(1.0)

    def _rests(self) -> bool:
        is_asking = self._acts.acting or self._codex.unanswered
        return not is_asking and all(
            writer.is_quiescent and not is_unfinished(writer.state)
            for writer in self._stage.registry.loaded_writers()
        )

    def _why(self) -> str:
        writers = self._stage.registry.loaded_writers()
        states = [(busy(one.state), one.state.queue, one.is_quiescent) for one in writers]
        return f"{self._acts.acting} requests, {states}"

    async def holds(self) -> None:
        """Checks a daemon that has come to rest."""
        await anyio.sleep(20)
        self.look_at_clients(at_rest=True)
        await self._model_sees_the_ledger()
        await self.comes_to_rest()
        await self._idles()
        self._begins_at_most_once()
        self._kept_what_was_acknowledged()
        self._forgot_no_filled_thread()
        self.demand(not self._acts.broken, str(self._acts.broken))

    async def _model_sees_the_ledger(self) -> None:
        writer = await self._stage.registry.thread(THREAD)
        if writer.state.archived:
            return
        session = await self._stage.operations.sessions.ready(THREAD)
        state = session.writer.state
        if any(one.items and not one.items_complete for one in state.active_turns):
            return  # what the ledger lacks of a turn is in Codex's file of it, which there is not
        items = conversation_items(state)
        known = self._prompts_in(text_of(msgspec.json.decode(item)) for item in items)
        seen = self._prompts_in(
            text for _, text in self._codex.contexts[session.provider_thread_id]
        )
        self.demand(known == seen, f"the ledger has {known}, the model {seen}")
        ours, theirs = state.name, self._codex.names.get(session.provider_thread_id)
        self.demand(ours == theirs, f"the ledger has the name {ours}, Codex {theirs}")

    async def _idles(self) -> None:
        """Checks that a daemon without work does nothing."""
        await anyio.sleep(40)
        asked, written = len(self._codex.asked), self._written()
        await anyio.sleep(IDLE_S)
        more = self._codex.asked[asked:]
        self.demand(not more and written == self._written(), f"it does not rest: {more}")

    def _written(self) -> int:
        return sum(map(len, self._disk.records.values()))

    def _begins_at_most_once(self) -> None:
        begun = Counter(self._codex.started)
        twice = {text: count for text, count in begun.items() if count > 1}
        self.demand(not twice, f"begun twice: {twice}")
        taken = self._acts.withdrawn & begun.keys()
        self.demand(not taken, f"begun although they were withdrawn: {taken}")
        thrown_away = self._codex.thrown_away if "delete" not in self._acts.history else []
        self.demand(not thrown_away, f"deleted with turns in them: {thrown_away}")
        state = self._disk.written()
        if not state.archived:
            waiting = {one.id for one in state.queue}
            lost = {
                text
                for prompt_id, text in self._acts.queued.items()
                if text not in self._codex.accepted and text not in self._acts.withdrawn
                if prompt_id not in waiting
            }
            self.demand(not lost, f"queued and lost: {lost}")

    def _kept_what_was_acknowledged(self) -> None:
        journal = [decode_record(payload) for payload in self._disk.records[THREAD]]
        commands = {record.command_id for record in journal}
        begun = {
            event.turn_id
            for record in journal
            for event in record.events
            if isinstance(event, ev.TurnStarted)
        }
        # One that the model never saw may be lost when Codex and the daemon are killed together.
        forgotten = (self._acts.begun & self._codex.announced) - begun - self._codex.reverted
        self.demand(not forgotten, f"told that they have begun, and forgotten: {forgotten}")
        # Each name is given once, and nobody else gives any.
        names = [
            event.name
            for record in journal
            for event in record.events
            if isinstance(event, ev.ThreadRenamed)
        ]
        self.demand(len(names) == len(set(names)), f"a name came back: {names}")
        lost = self._acts.acknowledged - commands
        self.demand(not lost, f"acknowledged and lost: {lost}")
        carried_out = Counter(
            record.command_id
            for record in journal
            if any(isinstance(event, ev.OperationStarted) for event in record.events)
        )
        twice = {one for one in self._acts.sent_twice if carried_out[one] > 1}
        self.demand(not twice, f"carried out twice: {twice}")

    def _forgot_no_filled_thread(self) -> None:
        """Checks threads other than forks: those that Codex makes itself have content before anybody
        knows their id, and those of the ledger are filled before they have a journal.
        """
        forgotten = [
            provider_id
            for provider_id, context in self._codex.contexts.items()
            if context and self._codex.made[provider_id] == "thread/start"
            if self._stage.registry.owner_of(provider_id) is None
        ]
        self.demand(not forgotten, f"filled and forgotten: {forgotten}")

    def demand(self, is_so: bool, what: str) -> None:
        if not is_so:
            raise Broken(f"{what} after {self._acts.history}")

    def _prompts_in(self, texts: Iterable[str]) -> list[str]:
        return [
            text[:LONGEST_TEXT]
            for text in texts
            if text.startswith("prompt ") and text not in self._acts.in_doubt
            # The new session lacks a turn that Codex begins in the old one as the context is trimmed.
            if not text.startswith(BY_ITSELF)
        ]


def _begins_turn(message: dict[str, Any]) -> bool:
    """Returns whether the message answers a prompt; typed commands are turns of nobody."""
    turn = (message.get("result") or {}).get("turn") or {}
    return "id" in turn and "rootTurnId" not in turn
