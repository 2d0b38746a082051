"""A Codex that runs turns by itself, takes its time, and can be killed between any two steps."""

from collections.abc import Callable
from random import Random
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderExited, ProviderTimeout
from trimpoint.core.context.active_context import is_preamble
from trimpoint.operations.routing.notification_router import NotificationRouter

from tests.operations.stage import ScriptedCodex, refusal
from tests.threads.stage import THREAD

QUESTION = "item/fileChange/requestApproval"
DEADLINE_S = 30.0
NEVER_SILENT = ("turn/start", "turn/interrupt")
SUMMARY = "gist"
CHANGES_NAME = "thread/name/updated"
# What each of the texts that the model sees belongs to: a turn, or None for what was injected.
Seen = tuple[str | None, str]


class SimulatedCodex(ScriptedCodex):
    """`accepted` has the prompts that a turn was begun for, and `started` those that the model saw,
    as often as it did; a Codex that dies in between loses them. `contexts` has what the model of
    each thread sees, `made` the method by which each thread was made. `on_step` is called between
    any two steps of a request.
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.router: NotificationRouter
        self.slowest_s = 0.1
        self.asks = 0.3
        self.silent: list[bool] = []
        self.is_daemons_end = False
        self.forks_asked = 0
        self.on_step: Callable[[], None] = lambda: None
        self.accepted: set[str] = set()
        self.started: list[str] = []
        self.contexts: dict[str, list[Seen]] = {THREAD: []}
        self.made: dict[str, str] = {THREAD: "template"}
        self.names: dict[str, str] = {}
        self.archived: set[str] = set()
        self.loaded: set[str] = {THREAD}
        self.turns: dict[str, list[dict[str, Any]]] = {}
        self.running: dict[str, str] = {}
        self.announced: set[str] = set()
        self.prompts: dict[str, dict[str, Any]] = {}
        self.open_questions: dict[int, str] = {}
        self._handling: dict[str, anyio.Lock] = {}

    async def request(
        self, method: str, params: Any = None, *, deadline_s: float | None = None
    ) -> Raw:
        epoch = self.epoch
        given = msgspec.json.decode(msgspec.json.encode(params or {}))
        self.asked.append((method, given))
        async with self.turns_of(str(given.get("threadId"))):
            await self.pause()
            self.refuse_if_killed(epoch)
            acts = self.silent.pop() if self.silent and method not in NEVER_SILENT else None
            if acts is False:
                await self.never(method, deadline_s, epoch)
            answer = Raw(msgspec.json.encode(self.answer(method, given)))
            self.step()
            if acts:
                await self.never(method, deadline_s, epoch)
        # What Codex says and answers goes through one pipe, so no answer is later than what
        # follows from it.
        self.refuse_if_killed(epoch)
        return answer

    def turns_of(self, provider_id: str) -> anyio.Lock:
        """Returns the lock in whose order the requests about a thread are handled: as they came."""
        return self._handling.setdefault(provider_id, anyio.Lock())

    def step(self) -> None:
        self.on_step()

    async def never(self, method: str, deadline_s: float | None, epoch: int) -> None:
        """Answers nothing until the deadline of the request is over."""
        await anyio.sleep(deadline_s or DEADLINE_S)
        self.refuse_if_killed(epoch)
        raise ProviderTimeout(method, deadline_s or DEADLINE_S)

    async def pause(self) -> None:
        await anyio.sleep(self.random.choice((0.0, 0.001, self.random.random() * self.slowest_s)))

    def refuse_if_killed(self, epoch: int) -> None:
        if epoch != self.epoch or self.is_daemons_end:
            raise ProviderExited("killed", "")

    def die(self) -> None:
        """Ends without a word, as when the daemon is killed with it."""
        self.epoch += 1
        for provider_id in list(self.running):
            self.stop(provider_id)
        self.loaded.clear()
        self.open_questions.clear()
        self._handling.clear()

    def kill(self) -> None:
        self.die()
        self.router.on_epoch_ended(self.epoch - 1, "it was killed")

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        provider_id = str(params.get("threadId"))
        match method:
            case "thread/start":
                return self.make("client's fork" if self.forks_asked else method, [])
            case "thread/fork":
                self.require_kept(provider_id)
                made = self.make(method, self.up_to(provider_id, params), provider_id)
                if (
                    params.get("excludeTurns") and "deferGoalContinuation" not in params
                ):  # to be compacted: its summary is in its file
                    made["thread"]["path"] = made["thread"]["id"]
                return made
            case "thread/resume":
                self.require_kept(provider_id)
                self.loaded.add(provider_id)
                thread = {"id": provider_id, "path": None, "name": self.names.get(provider_id)}
                return {"thread": thread, "model": "m"}
            case "thread/inject_items":
                self.require(provider_id)
                self.contexts[provider_id] += [
                    (None, text_of(item)) for item in params["items"] if not is_preamble(item)
                ]
                return {}
            case "turn/start":
                self.require(provider_id)
                client_id = params.get("clientUserMessageId")
                return self.begin_turn(provider_id, params["input"][0]["text"], client_id)
            case "thread/compact/start":
                self.require(provider_id)
                self.compact(provider_id)
                return {}
            case "thread/revert":
                self.require(provider_id)
                self.revert(provider_id, params["beforeTurnId"])
                return {"thread": {"id": provider_id, "path": None}}
            case "turn/interrupt":
                turn_id = self.running.get(provider_id)
                if turn_id != params.get("turnId") or turn_id not in self.announced:
                    raise refusal("no active turn to interrupt")
                self.end(provider_id, "interrupted")
                return {}
            case "thread/archive":
                self.require_kept(provider_id)
                self.unload(provider_id)
                self.archived.add(provider_id)
                return {}
            case "thread/unarchive":
                if provider_id not in self.archived:
                    raise refusal(f"no archived rollout found for thread id {provider_id}")
                self.archived.discard(provider_id)
                return {"thread": {"id": provider_id, "path": None}}
            case "thread/delete":
                if provider_id not in self.contexts:
                    raise refusal(f"no rollout found for thread id {provider_id}")
                self.unload(provider_id)
                del self.contexts[provider_id]
                self.archived.discard(provider_id)
                return {}
            case "thread/turns/list":
                return {"data": self.turns.get(provider_id, [])[::-1]}
            case "thread/name/set":
                self.require_kept(provider_id)
                self.names[provider_id] = params["name"]
                self.say(CHANGES_NAME, provider_id, threadName=params["name"])
                return {}
            case "thread/read":
                return {"thread": {"id": provider_id, "path": None}}
            case "thread/queue/list" | "thread/backgroundTerminals/list" | "thread/loaded/list":
                return {"data": []}
            case _:
                return {}

    def require(self, provider_id: str) -> None:
        if provider_id not in self.loaded:
            raise refusal(f"thread not found: {provider_id}")

    def require_kept(self, provider_id: str) -> None:
        if provider_id in self.archived:
            raise refusal(f"session {provider_id} is archived.")
        if provider_id not in self.contexts:
            raise refusal(f"no rollout found for thread id {provider_id}")

    def make(self, made_by: str, context: list[Seen], origin: str | None = None) -> dict[str, Any]:
        provider_id = f"provider-{next(self._numbers)}"
        self.contexts[provider_id] = context
        self.made[provider_id] = made_by
        self.loaded.add(provider_id)
        kept = {turn_id for turn_id, _ in context}
        self.turns[provider_id] = [
            one for one in self.turns.get(origin or "", ()) if one["id"] in kept
        ]
        return {"thread": {"id": provider_id, "path": None}, "model": "m"}

    def unload(self, provider_id: str) -> None:
        if provider_id in self.running:
            self.end(provider_id, "interrupted")
        self.loaded.discard(provider_id)

    def up_to(self, provider_id: str, params: dict[str, Any]) -> list[Seen]:
        """Returns what the model sees in a fork at the turn that the parameters name."""
        seen = self.contexts[provider_id]
        places = {turn_id: at for at, (turn_id, _) in enumerate(seen) if turn_id is not None}
        last, before = params.get("lastTurnId"), params.get("beforeTurnId")
        for named in filter(None, (last, before)):
            if named not in places:
                raise refusal(f"turn not found: {named}")
        if last is not None:
            return seen[: places[last] + 1]
        if before is not None:
            return seen[: next(at for at, (turn_id, _) in enumerate(seen) if turn_id == before)]
        return list(seen)

    def revert(self, provider_id: str, before: str) -> None:
        if provider_id in self.running:
            raise refusal("a turn is running")
        self.contexts[provider_id] = self.up_to(provider_id, {"beforeTurnId": before})
        kept = {turn_id for turn_id, _ in self.contexts[provider_id]}
        self.turns[provider_id] = [one for one in self.turns[provider_id] if one["id"] in kept]

    def begin_turn(self, provider_id: str, text: str, client_id: str | None) -> dict[str, Any]:
        if provider_id in self.running:
            raise refusal("a turn is running")
        turn_id = self.new_turn(provider_id)
        content = [{"type": "text", "text": text}]
        prompt = {"type": "userMessage", "id": f"{turn_id}-p", "content": content}
        self.accepted.add(text)
        self.prompts[turn_id] = {**prompt, "clientId": client_id}
        self.tasks.start_soon(self.play, provider_id, turn_id, text, self.epoch)
        return {"turn": {"id": turn_id, "status": "inProgress", "items": []}}

    def new_turn(self, provider_id: str) -> str:
        turn_id = f"turn-{next(self._numbers)}"
        turn: dict[str, Any] = {"id": turn_id, "status": "inProgress", "items": []}
        self.turns.setdefault(provider_id, []).append(turn)
        self.running[provider_id] = turn_id
        return turn_id

    def is_over(self, provider_id: str, turn_id: str, epoch: int) -> bool:
        return epoch != self.epoch or self.running.get(provider_id) != turn_id

    async def play(self, provider_id: str, turn_id: str, text: str, epoch: int) -> None:
        """Says what Codex says of a turn, and stops when the turn or Codex has ended."""
        await self.pause()
        if self.is_over(provider_id, turn_id, epoch):
            return
        self.announce(provider_id, turn_id)
        await self.pause()
        if self.is_over(provider_id, turn_id, epoch):
            return
        self.say("item/agentMessage/delta", provider_id, turnId=turn_id, itemId="a", delta="an")
        if self.random.random() < self.asks:
            self.ask(provider_id, turn_id)
        await self.pause()
        if self.is_over(provider_id, turn_id, epoch):
            return
        self.contexts[provider_id].append((turn_id, f"answer to {text}"))
        item = raw_message("assistant", f"answer to {text}")
        self.say("rawResponseItem/completed", provider_id, turnId=turn_id, item=item)
        await self.pause()
        if not self.is_over(provider_id, turn_id, epoch):
            self.end(provider_id, "completed")

    def compact(self, provider_id: str) -> None:
        turn_id = self.new_turn(provider_id)
        self.tasks.start_soon(self.play_compaction, provider_id, turn_id, self.epoch)

    async def play_compaction(self, provider_id: str, turn_id: str, epoch: int) -> None:
        await self.pause()
        if self.is_over(provider_id, turn_id, epoch):
            return
        self.announce(provider_id, turn_id)
        await self.pause()
        if not self.is_over(provider_id, turn_id, epoch):
            item = {"type": "contextCompaction", "id": f"{turn_id}-c"}
            self.contexts[provider_id] = [(turn_id, SUMMARY)]
            self.say("item/completed", provider_id, turnId=turn_id, item=item)
            self.end(provider_id, "completed")

    def rollout(self, path: str) -> list[bytes]:
        """Returns the lines of the file of a compacted fork."""
        turn_id = self.turns[path][-1]["id"]
        message = raw_message("assistant", SUMMARY)
        return [
            msgspec.json.encode({"type": kind, "payload": payload})
            for kind, payload in (
                ("event_msg", {"type": "task_started", "turn_id": turn_id}),
                ("response_item", message),
                ("compacted", {"message": SUMMARY}),
            )
        ]

    def ask(self, provider_id: str, turn_id: str) -> None:
        number = next(self._numbers)
        self.open_questions[number] = provider_id
        params = {"threadId": provider_id, "turnId": turn_id, "itemId": "i"}
        self.router.on_server_request(
            Raw(b"%d" % number), QUESTION, Raw(msgspec.json.encode(params))
        )

    def announce(self, provider_id: str, turn_id: str) -> None:
        if turn_id in self.announced:
            return
        self.announced.add(turn_id)
        turn = {"id": turn_id, "status": "inProgress", "items": []}
        self.say("turn/started", provider_id, turn=turn)
        prompt = self.prompts.get(turn_id)
        if prompt is not None:  # none begins a compaction
            text = prompt["content"][0]["text"]
            self.started.append(text)
            self.turns[provider_id][-1]["items"].append(prompt)
            self.contexts[provider_id].append((turn_id, text))
            self.say("item/completed", provider_id, turnId=turn_id, item=prompt)
            raw = raw_message("user", text)
            self.say("rawResponseItem/completed", provider_id, turnId=turn_id, item=raw)

    def end(self, provider_id: str, status: str) -> None:
        turn_id = self.stop(provider_id, status)
        self.announce(provider_id, turn_id)
        self.say("thread/status/changed", provider_id, status={"type": "idle"})
        turn = {"id": turn_id, "status": status, "items": []}
        self.say("turn/completed", provider_id, turn=turn)

    def stop(self, provider_id: str, status: str = "interrupted") -> str:
        self.turns[provider_id][-1]["status"] = status
        return self.running.pop(provider_id)

    def say(self, method: str, provider_id: str, **params: Any) -> None:
        encoded = msgspec.json.encode({"threadId": provider_id, **params})
        line = msgspec.json.encode({"method": method, "params": Raw(encoded)})
        self.router.on_notification(method, Raw(encoded), line)

    # The methods of a link's peer that answer Codex's requests.
    def respond(self, request_id: Raw, result: Any) -> None:
        number = int(bytes(request_id))
        assert number in self.open_questions, f"{number} is answered twice, or was never asked"
        provider_id = self.open_questions.pop(number)

        async def resolved() -> None:
            self.say("serverRequest/resolved", provider_id, requestId=number)

        self.tasks.start_soon(resolved)

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        self.respond(request_id, None)


def raw_message(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def text_of(item: dict[str, Any]) -> str:
    return "".join(str(one.get("text", "")) for one in item.get("content", ()))
