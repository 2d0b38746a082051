"""A Codex that runs turns by itself, takes its time, and can be killed between any two steps."""

from random import Random
from typing import Any

import anyio
import msgspec
from msgspec import Raw
from trimpoint.core.context.active_context import is_preamble
from trimpoint.operations.routing.notification_router import NotificationRouter

from tests.operations.stage import refusal
from tests.simulation.link import CLIENT_ID, SimulatedLink
from tests.simulation.messages import compacted_file, raw_message, text_of
from tests.threads.stage import THREAD

QUESTION = "item/fileChange/requestApproval"
# The prompts of turns that Codex begins by itself.
BY_ITSELF = "prompt goal"
SUMMARY = "gist"
# The daemon does not wait that long for the end of a turn that was interrupted.
LONGEST_STOP_S = 30.0
# Of the ends that are not reported in time, those that are reported as the next turn begins.
FORGOTTEN = 0.5
CHANGES_NAME = "thread/name/updated"
# What each of the texts that the model sees belongs to: a turn, or None for what was injected.
Seen = tuple[str | None, str]


class SimulatedCodex(SimulatedLink):
    """`accepted` has the prompts that a turn was begun for, and `started` those that the model saw,
    as often as it did; a Codex that dies in between loses them. `contexts` has what the model of
    each thread sees, `made` the method by which each thread was made. `queues` has the prompts that
    wait in Codex, and `mute` how many ends of turns it will not report in time.
    """

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self.router: NotificationRouter
        self.asks = 0.3
        self.goals = 0
        self.mute = 0
        self.untold: dict[str, dict[str, Any]] = {}
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
        self.stopping: set[str] = set()
        # The turns whose ends this daemon was told.
        self.ended: set[str] = set()
        self.prompts: dict[str, dict[str, Any]] = {}
        self.open_questions: dict[int, str] = {}
        # The thread of each turn that a prompt began, and those of them that were deleted.
        self.begun_in: dict[str, str] = {}
        self.thrown_away: list[str] = []
        # The turns that were taken back.
        self.reverted: set[str] = set()

    def die(self) -> None:
        """Ends without a word, as when the daemon is killed with it."""
        self.epoch += 1
        for provider_id in list(self.running):
            self.stop(provider_id)
        self.loaded.clear()
        self.untold.clear()
        self.open_questions.clear()
        self.forget_requests()

    def kill(self) -> None:
        self.die()
        self.router.on_epoch_ended(self.epoch - 1, "it was killed")

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        provider_id = str(params.get("threadId"))
        match method:
            case "thread/start":
                return self.make(method, [])
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
                client_id = params.get(CLIENT_ID)
                return self.begin_turn(provider_id, params["input"][0]["text"], client_id)
            case "turn/steer":
                self.require(provider_id)
                return self.put_in(params, self.running.get(provider_id))
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
                if turn_id in self.stopping:
                    return {}
                self.stopping.add(turn_id)
                wait_s = self.random.choice((0.0, 0.0, self.random.random() * LONGEST_STOP_S))
                self.tasks.start_soon(self.end_later, provider_id, turn_id, self.epoch, wait_s)
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
                if provider_id in self.begun_in.values():
                    self.thrown_away.append(provider_id)
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
                status = "active" if provider_id in self.running else "idle"
                return {"thread": {"id": provider_id, "path": None, "status": {"type": status}}}
            case "thread/queue/list":
                self.require_kept(provider_id)
                return {"data": self.queues.get(provider_id, [])}
            case "thread/queue/add":
                self.require(provider_id)
                self.queue_up(provider_id, params["input"][0]["text"], params.get(CLIENT_ID))
                return {}
            case "thread/queue/delete":
                queue = self.queues.get(provider_id, [])
                queue[:] = [one for one in queue if one["id"] != params["queuedSubmissionId"]]
                return {}
            case "thread/backgroundTerminals/list" | "thread/loaded/list":
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
        self.loaded.discard(provider_id)  # before the end, which would begin another turn
        if provider_id in self.running:
            self.end(provider_id, "interrupted")

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
        self.reverted |= {one["id"] for one in self.turns[provider_id]} - kept
        self.turns[provider_id] = [one for one in self.turns[provider_id] if one["id"] in kept]

    def begin_turn(self, provider_id: str, text: str, client_id: str | None) -> dict[str, Any]:
        if provider_id in self.running:
            raise refusal("a turn is running")
        turn_id = self.new_turn(provider_id)
        content = [{"type": "text", "text": text}]
        prompt = {"type": "userMessage", "id": f"{turn_id}-p", "content": content}
        self.accepted.add(text)
        self.begun_in[turn_id] = provider_id
        self.prompts[turn_id] = {**prompt, "clientId": client_id}
        self.tasks.start_soon(self.play, provider_id, turn_id, text, self.epoch)
        return {"turn": {"id": turn_id, "status": "inProgress", "items": []}}

    def queue_up(self, provider_id: str, text: str, client_id: str | None) -> None:
        """Adds a prompt to the queue of a thread, which begins it at once if it is idle."""
        number = next(self._numbers)
        prompt = {"id": f"queued-{number}", "input": [{"type": "text", "text": text}]}
        self.queues.setdefault(provider_id, []).append({**prompt, CLIENT_ID: client_id})
        if provider_id not in self.running:
            self.begin_queued(provider_id)

    def begin_queued(self, provider_id: str) -> bool:
        queue = self.queues.get(provider_id, [])
        if queue and provider_id in self.loaded:
            first = queue.pop(0)
            self.begin_turn(provider_id, first["input"][0]["text"], first[CLIENT_ID])
            return True
        return False

    def new_turn(self, provider_id: str) -> str:
        untold = self.untold.pop(provider_id, None)
        if untold is not None and self.random.random() < FORGOTTEN:
            self.tell_end(provider_id, untold)
        turn_id = f"turn-{next(self._numbers)}"
        turn: dict[str, Any] = {"id": turn_id, "status": "inProgress", "items": []}
        self.turns.setdefault(provider_id, []).append(turn)
        self.running[provider_id] = turn_id
        return turn_id

    def is_over(self, provider_id: str, turn_id: str, epoch: int) -> bool:
        is_running = epoch == self.epoch and self.running.get(provider_id) == turn_id
        return not is_running or turn_id in self.stopping

    async def end_later(self, provider_id: str, turn_id: str, epoch: int, wait_s: float) -> None:
        """Ends a turn that was interrupted, of which nothing is said meanwhile."""
        await anyio.sleep(wait_s)
        if epoch == self.epoch and self.running.get(provider_id) == turn_id:
            self.end(provider_id, "interrupted")

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
        self.read(provider_id, turn_id)
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
        return compacted_file(self.turns[path][-1]["id"], SUMMARY)

    def ask(self, provider_id: str, turn_id: str) -> None:
        number = next(self._numbers)
        self.open_questions[number] = provider_id
        # Those of some tools name no turn.
        named = self.random.choice(({}, {"turnId": turn_id}))
        params = {"threadId": provider_id, "itemId": "i", **named}
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
            self.show(provider_id, turn_id, prompt)

    def show(self, provider_id: str, turn_id: str, prompt: dict[str, Any]) -> None:
        """Shows the model a prompt."""
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
        for number, asked_by in list(self.open_questions.items()):
            if asked_by == provider_id:
                self.resolve(number)
        if self.mute and status == "completed":
            self.mute -= 1
            self.untold[provider_id] = turn
            return
        self.tell_end(provider_id, turn)
        if self.begin_queued(provider_id):
            return
        if self.goals and provider_id in self.loaded and self.made[provider_id] != "thread/fork":
            self.goals -= 1
            self.begin_turn(provider_id, f"{BY_ITSELF} {turn_id}", None)

    def tell_end(self, provider_id: str, turn: dict[str, Any]) -> None:
        self.say("turn/completed", provider_id, turn=turn)
        self.ended.add(turn["id"])

    def read(self, provider_id: str, turn_id: str) -> None:
        """Has the model read what was put into its turn."""
        for number, (text, client_id) in enumerate(self.unread.pop(provider_id, ())):
            content = [{"type": "text", "text": text}]
            prompt = {
                "type": "userMessage",
                "id": f"{turn_id}-s{number}-{text}",
                "content": content,
            }
            self.accepted.add(text)
            self.show(provider_id, turn_id, {**prompt, "clientId": client_id})

    def stop(self, provider_id: str, status: str = "interrupted") -> str:
        self.unread.pop(provider_id, None)
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
        self.tasks.start_soon(self.resolved, number, self.open_questions.pop(number))

    def resolve(self, number: int) -> None:
        self.say("serverRequest/resolved", self.open_questions.pop(number), requestId=number)

    async def resolved(self, number: int, provider_id: str) -> None:
        self.say("serverRequest/resolved", provider_id, requestId=number)

    def respond_error(self, request_id: Raw, code: int, message: str) -> None:
        self.respond(request_id, None)
