"""A Codex that runs turns by itself, takes its time, and can be killed at any moment."""

from random import Random
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint.codex.appserver.errors import ProviderExited
from trimpoint.core.context.active_context import is_preamble
from trimpoint.operations.routing.notification_router import NotificationRouter

from tests.operations.stage import ScriptedCodex, refusal
from tests.threads.stage import THREAD

QUESTION = "item/fileChange/requestApproval"


class SimulatedCodex(ScriptedCodex):
    """`started` has each prompt that a turn was begun with, `contexts` the texts that the model of
    each thread sees.
    """

    def __init__(self, random: Random) -> None:
        super().__init__()
        self.random = random
        self.router: NotificationRouter
        self.slowest_s = 0.1
        self.started: list[str] = []
        self.contexts: dict[str, list[str]] = {THREAD: []}
        self.loaded: set[str] = {THREAD}
        self.turns: dict[str, list[dict[str, Any]]] = {}
        self.running: dict[str, str] = {}
        self.announced: set[str] = set()

    async def request(
        self, method: str, params: Any = None, *, deadline_s: float | None = None
    ) -> Raw:
        epoch = self.epoch
        given = msgspec.json.decode(msgspec.json.encode(params or {}))
        self.asked.append((method, given))
        await self.pause()
        self.refuse_if_killed(epoch)
        answer = Raw(msgspec.json.encode(self.answer(method, given)))
        await self.pause()
        self.refuse_if_killed(epoch)
        return answer

    async def pause(self) -> None:
        await anyio.sleep(self.random.choice((0.0, 0.001, self.random.random() * self.slowest_s)))

    def refuse_if_killed(self, epoch: int) -> None:
        if epoch != self.epoch:
            raise ProviderExited("killed", "")

    def kill(self) -> None:
        self.epoch += 1
        for provider_id in list(self.running):
            self.stop(provider_id)
        self.loaded.clear()
        self.router.on_epoch_ended(self.epoch - 1, "it was killed")

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        provider_id = str(params.get("threadId"))
        match method:
            case "thread/start":
                started = super().answer(method, params)
                self.contexts[started["thread"]["id"]] = []
                self.loaded.add(started["thread"]["id"])
                return started
            case "thread/resume":
                if provider_id not in self.threads:
                    raise refusal(f"no rollout found for thread id {provider_id}")
                self.loaded.add(provider_id)
                return super().answer(method, params)
            case "thread/inject_items":
                self.require(provider_id)
                self.contexts[provider_id] += [
                    text_of(item) for item in params["items"] if not is_preamble(item)
                ]
                return {}
            case "turn/start":
                self.require(provider_id)
                return self.begin_turn(provider_id, params["input"][0]["text"])
            case "turn/interrupt":
                turn_id = self.running.get(provider_id)
                if turn_id != params.get("turnId") or turn_id not in self.announced:
                    raise refusal("no active turn to interrupt")
                self.end(provider_id, "interrupted")
                return {}
            case "thread/archive" | "thread/delete":
                if provider_id in self.running:
                    self.end(provider_id, "interrupted")
                self.loaded.discard(provider_id)
                return super().answer(method, params)
            case "thread/turns/list":
                return {"data": self.turns.get(provider_id, [])[::-1]}
            case "thread/name/set":
                self.say("thread/name/updated", provider_id, threadName=params["name"])
                return {}
            case _:
                return super().answer(method, params)

    def require(self, provider_id: str) -> None:
        if provider_id not in self.loaded:
            raise refusal(f"thread not found: {provider_id}")

    def begin_turn(self, provider_id: str, text: str) -> dict[str, Any]:
        if provider_id in self.running:
            raise refusal("a turn is running")
        turn_id = f"turn-{next(self._numbers)}"
        self.started.append(text)
        prompt = {"type": "userMessage", "id": f"{turn_id}-p", "content": [part(text)]}
        turn = {"id": turn_id, "status": "inProgress", "items": [prompt]}
        self.turns.setdefault(provider_id, []).append(turn)
        self.running[provider_id] = turn_id
        self.contexts[provider_id].append(text)
        self.tasks.start_soon(self.play, provider_id, turn_id, text, self.epoch)
        return {"turn": {"id": turn_id, "status": "inProgress", "items": []}}

    async def play(self, provider_id: str, turn_id: str, text: str, epoch: int) -> None:
        """Says what Codex says of a turn, and stops when the turn or Codex has ended."""

        def is_over() -> bool:
            return epoch != self.epoch or self.running.get(provider_id) != turn_id

        await self.pause()
        if is_over():
            return
        self.announce(provider_id, turn_id)
        said: list[tuple[str, dict[str, Any]]] = [
            ("item/agentMessage/delta", {"itemId": "a", "delta": "an"}),
            (
                "rawResponseItem/completed",
                {"item": raw_message("assistant", f"answer to {text}")},
            ),
        ]
        for method, params in said:
            await self.pause()
            if is_over():
                return
            if method == "rawResponseItem/completed" and params["item"]["role"] == "assistant":
                self.contexts[provider_id].append(f"answer to {text}")
            self.say(method, provider_id, turnId=turn_id, **params)
            if method == "item/agentMessage/delta" and self.random.random() < 0.3:
                self.ask(provider_id, turn_id)
        await self.pause()
        if not is_over():
            self.end(provider_id, "completed")

    def ask(self, provider_id: str, turn_id: str) -> None:
        params = {"threadId": provider_id, "turnId": turn_id, "itemId": "i"}
        self.router.on_server_request(
            Raw(b"%d" % next(self._numbers)), QUESTION, Raw(msgspec.json.encode(params))
        )

    def announce(self, provider_id: str, turn_id: str) -> None:
        if turn_id not in self.announced:
            self.announced.add(turn_id)
            prompt = self.turns[provider_id][-1]["items"][0]
            text = prompt["content"][0]["text"]
            turn = {"id": turn_id, "status": "inProgress", "items": []}
            self.say("turn/started", provider_id, turn=turn)
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
    def respond(self, request_id: Raw, result: Any) -> None: ...

    def respond_error(self, request_id: Raw, code: int, message: str) -> None: ...


def part(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}


def raw_message(role: str, text: str) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def text_of(item: dict[str, Any]) -> str:
    return "".join(str(one.get("text", "")) for one in item.get("content", ()))
