"""What clients, Codex and the disk do in a simulated day, and what was acknowledged."""

from collections.abc import Callable
from itertools import count
from random import Random
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderFailure
from trimpoint.core.model import events as ev
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.threads.errors import ThreadError
from trimpoint_protocol import commands as wire
from trimpoint_protocol.jsonrpc import Response

from tests.gateway.stage import FakeClient, client_request
from tests.operations.stage import Stage
from tests.simulation.codex import BY_ITSELF, QUESTION, SimulatedCodex
from tests.simulation.disk import SimulatedDisk
from tests.simulation.messages import raw_message
from tests.threads.stage import THREAD

# How often each of them happens.
WEIGHTS = {
    "prompt": 24, "clear": 10, "compact": 4, "undo": 3, "back": 3, "again": 3, "dispatch": 6,
    "name": 4, "rename": 2, "inject": 4, "settings": 2, "interrupt": 4, "answer": 4, "queue": 10, "withdraw": 4,
    "release": 2, "fork": 3, "revert": 4, "resume": 3, "archive": 2, "unarchive": 2, "delete": 1,
    "silence": 4, "codex": 6, "goal": 2, "mute": 2, "elsewhere": 3, "disk": 6, "speed": 5, "daemon": 5, "shutdown": 2,
}  # fmt: skip
# Of the prompts that are put into a turn, those that the client sends again.
CUT_OFF = 0.7
NEVER_RUNS = 0.01
REFUSED = (ProviderFailure, ThreadError, Refusal, TimeoutError)


class Acts:
    """Does what clients do. What was acknowledged to them is kept from one daemon to the next."""

    def __init__(self, random: Random, codex: SimulatedCodex) -> None:
        self.random = random
        self.codex = codex
        self.history: list[str] = []
        self.queued: dict[str, str] = {}
        self.withdrawn: set[str] = set()
        self.acknowledged: set[str] = set()
        # The turns that clients were told have begun.
        self.begun: set[str] = set()
        self.sent_twice: set[str] = set()
        # Injected, but not acknowledged: only a file of Codex could tell whether it was.
        self.in_doubt: set[str] = set()
        self.broken: list[str] = []
        self._numbers = count(1)
        self._prompts = count(1)

    def begin(self, stage: Stage, watcher: FakeClient, disk: SimulatedDisk) -> None:
        """Acts on this daemon from now on."""
        self.stage, self.disk = stage, disk
        self.clients = [stage.client, watcher]
        self.acting = 0

    def do(self, kind: str) -> None:
        """Begins an act, which ends when the daemon has answered."""
        self.history.append(kind)
        act: Callable[[], None] = getattr(self, f"_{kind}")
        act()

    def _prompt(self) -> None:
        self._ask("turn/start", input=typed(self._text()))

    def _clear(self) -> None:
        self._ask("turn/start", input=typed(f"/clear {self.random.randrange(3)}"))

    def _compact(self) -> None:
        self._ask("turn/start", input=typed(f"/compact --force --keep {self.random.randrange(2)}"))

    def _undo(self) -> None:
        self._ask("turn/start", input=typed("/undo"))

    def _back(self) -> None:
        self._ask("turn/start", input=typed(f"/revert {self.random.randrange(3)} --context"))

    def _again(self) -> None:
        """Sends a typed command twice, as a client does that has lost the connection."""
        client_id = f"again {next(self._numbers)}"
        self.sent_twice.add(f"typed:{client_id}")
        for _ in range(2):
            self._ask("turn/start", input=typed("/clear 1"), clientUserMessageId=client_id)

    def _dispatch(self) -> None:
        number = next(self._numbers)
        ids: dict[str, Any] = {"command_id": f"command {number}", "thread_id": THREAD}
        command: wire.AnyClientCommand = self.random.choice(
            (
                wire.TrimContext(**ids, keep_last_n_turns=number % 3),
                wire.UndoTrim(**ids),
                wire.PinContext(**ids, note="mind this"),
                wire.StopSession(**ids),
            )
        )

        self._send(command)

    def _rename(self) -> None:
        number = next(self._numbers)
        name = f"name {number}"
        self._send(wire.RenameThread(command_id=f"command {number}", thread_id=THREAD, name=name))

    def _send(self, command: wire.AnyClientCommand) -> None:
        async def dispatch() -> None:
            await self.stage.operations.sessions.dispatch(command)
            self._note(lambda: self.acknowledged.add(command.command_id))

        self._begin("dispatch", dispatch)

    def _name(self) -> None:
        self._ask("thread/name/set", name=f"name {next(self._numbers)}")

    def _inject(self) -> None:
        writer = self.stage.registry.loaded(THREAD)
        if writer is None or not all(one.items_complete for one in writer.state.turns[-1:]):
            return  # what the ledger lacks of a turn is in Codex's file of it, which there is not
        text = f"prompt injected {next(self._numbers)}"
        self.in_doubt.add(text)
        self._ask(
            "thread/inject_items",
            lambda _: self.in_doubt.discard(text),
            items=[raw_message("user", text)],
        )

    def _settings(self) -> None:
        self._ask("thread/settings/update", effort="high")

    def _interrupt(self) -> None:
        self._ask("turn/interrupt", turnId=self._running() or "")

    def _answer(self) -> None:
        client = self.random.choice(self.clients)
        asked = [one["id"] for one in client.received if one.get("method") == QUESTION]
        if asked:
            answer = Raw(b'{"decision":"accept"}')
            response = Response(b"", msgspec.json.encode(asked[-1]), answer, False)
            self.stage.questions.answered(client.client, asked[-1], response)

    def _queue(self) -> None:
        text = self._text()

        def note(result: Any) -> None:
            self.queued[result["queuedSubmission"]["id"]] = text

        self._ask("thread/queue/add", note, input=typed(text), clientUserMessageId=f"id of {text}")

    def _steer(self) -> None:
        """Puts a prompt into a running turn. A client that is cut off before it knows sends it to
        the queue, under the same id.
        """
        text = self._text()
        name = f"id of {text}"
        command = wire.QueuePrompt(
            command_id=name, thread_id=THREAD, input=typed(text), client_user_message_id=name
        )

        async def steer() -> None:
            while (turn_id := self._running()) is None:
                if self.random.random() < NEVER_RUNS:
                    return
                await anyio.sleep(self.random.random() * 0.1)
            sent: dict[str, Any] = {"input": typed(text), "clientUserMessageId": name}
            self._ask("turn/steer", expectedTurnId=turn_id, **sent)
            if self.random.random() < CUT_OFF:
                await anyio.sleep(self.random.choice((0.0, 0.1, 1.0)))
                result = await self.stage.operations.sessions.dispatch(command)
                queued = [one for one in result.record.events if isinstance(one, ev.PromptQueued)]
                self._note(lambda: self.queued.update({one.prompt_id: text for one in queued}))

        self._begin("steer", steer)

    def _running(self) -> str | None:
        writer = self.stage.registry.loaded(THREAD)
        return writer.state.running_turn_id if writer is not None else None

    def _withdraw(self) -> None:
        if not self.queued:
            return
        prompt_id = self.random.choice(list(self.queued))

        def note(result: Any) -> None:
            if result["deleted"]:
                self.withdrawn.add(self.queued[prompt_id])

        self._ask("thread/queue/delete", note, queuedSubmissionId=prompt_id)

    def _release(self) -> None:
        self._ask("thread/queue/start")

    def _fork(self) -> None:
        at: dict[str, Any] = self.random.choice(({}, {"lastTurnId": self._some_turn()}))
        self._ask("thread/fork", **at)

    def _revert(self) -> None:
        self._ask("thread/revert", beforeTurnId=self._some_turn())

    def _resume(self) -> None:
        self._ask("thread/resume")

    def _archive(self) -> None:
        self._ask("thread/archive")

    def _unarchive(self) -> None:
        self._ask("thread/unarchive")

    def _delete(self) -> None:
        self._ask("thread/delete")

    def _silence(self) -> None:
        """Has Codex not answer a request in time, whether or not it has done what was asked."""
        self.codex.silent.append(self.random.random() < 0.5)

    def _disk(self) -> None:
        self.random.choice((self.disk.fill, self.disk.free, self.disk.fill_once))()

    def _speed(self) -> None:
        self.disk.slowest_s = self.random.choice((0.0, 0.01, 1.0, 30.0))
        self.codex.slowest_s = self.random.choice((0.0, 0.1, 2.0))

    def _goal(self) -> None:
        """Has Codex begin a turn by itself when one has ended."""
        self.codex.goals += 1

    def _mute(self) -> None:
        """Has Codex not report that a turn has ended before the next one begins."""
        self.codex.mute += 1

    def _elsewhere(self) -> None:
        """Puts a prompt into Codex's own queue, as an older daemon did."""
        writer = self.stage.registry.loaded(THREAD)
        if writer is None or writer.is_unwritten(ev.SessionReady):
            return
        serving = writer.state.generation.provider_thread_id
        if serving in self.codex.loaded and writer.state.generation.ready:
            text = f"{BY_ITSELF} {next(self._prompts)}"
            self.codex.queue_up(str(serving), text, f"id of {text}")

    def _text(self) -> str:
        return f"prompt {next(self._prompts)}"

    def _some_turn(self) -> str:
        writer = self.stage.registry.loaded(THREAD)
        turns = [one.id for one in writer.state.turns] if writer is not None else []
        return self.random.choice(turns or ["unknown"])

    def _note(self, note: Callable[[], object]) -> None:
        """Notes what was acknowledged, unless the daemon has been killed before it was."""
        if not self.codex.is_daemons_end:
            note()

    def _ask(
        self, method: str, note: Callable[[Any], None] = lambda _: None, **params: Any
    ) -> None:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": {"threadId": THREAD, **params}}
        request = client_request(self.random.choice(self.clients), msgspec.json.encode(message))
        handler = self.stage.routes.handlers.get(method, self.stage.routes.forward)

        async def ask() -> None:
            result = await handler(request)
            if not request.is_answered:
                request.answer(result)
            self._note(lambda: note(result))

        self._begin(method, ask)

    def _begin(self, what: str, act: Callable[[], Any]) -> None:
        async def acting() -> None:
            self.acting += 1
            try:
                await act()
            except REFUSED as error:
                self.history.append(f"{what}: {error}")
            except Exception as error:
                self.broken.append(f"{what}: {error!r}")
            finally:
                self.acting -= 1

        self.stage.tasks.start_soon(acting)


def typed(text: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": text}]
