"""Masks of many outputs: compared with a minimal script that gives Codex the same items."""

import time
from pathlib import Path

import anyio
import msgspec
from trimpoint.core.context.removals import masked_item
from trimpoint.core.model import events as ev
from trimpoint.threads.ids import new_uuid7

from benchmarks.budgets.clear import bare_replacement
from benchmarks.daemons import real_codex
from benchmarks.measures import Figure, Outcome, Verdict, at_most
from benchmarks.stage import Bench
from benchmarks.threads import Grown, grow, turn_with_a_read
from benchmarks.wire import JsonRpcClient, Message

OUTPUTS, OUTPUTS_QUICK = 1_000, 600  # fewer would leave less than the floor
NEWEST = 3


def run(stage: Bench) -> Outcome:
    """Masks all outputs but the newest, each way, repeatedly; each mask of ours is undone."""
    outputs, repeats = stage.sized(OUTPUTS, OUTPUTS_QUICK), stage.sized(9, 2)
    ours_ms: list[float] = []
    bare_ms: list[float] = []
    room = stage.room("mask")
    with real_codex() as codex:
        with codex.app_server() as bare:
            thread = bare.start_thread(room)
            newest = bare.turn(thread["id"], "hello")
        grown = Grown(str(thread["id"]), str(room), thread["path"], outputs + NEWEST, newest)
        anyio.run(grow, room / "state", [grown], turn_with_a_read)
        with (
            codex.daemon(room) as running,
            running.client() as client,
            codex.app_server() as bare,
        ):
            client.request("thread/resume", threadId=grown.thread_id, excludeTurns=True)
            client.request("orchestration/subscribeThread", threadId=grown.thread_id)
            names, items = _named(client, grown.thread_id, outputs), _items(outputs)
            theirs = bare.start_thread(room)["id"]
            bare.turn(theirs, "hello")
            for _ in range(repeats):
                ours_ms.append(_mask(client, grown.thread_id, names))
                client.request("commands/execute", threadId=grown.thread_id, text="/undo --force")
                taken_ms, theirs = bare_replacement(bare, theirs, Path(room), items)
                bare_ms.append(taken_ms)
    figures = [
        Figure(f"{outputs:,} outputs masked", "ms", ours_ms),
        Figure("the same items given to Codex by a bare script", "ms", bare_ms),
    ]
    ratio = figures[0].median / figures[1].median
    why = "wall clock, medians"
    return Outcome([Verdict("masking : bare script", ratio, at_most(1.10, "×"), why)], figures)


def _named(client: JsonRpcClient, thread_id: str, outputs: int) -> list[str]:
    listed = client.request("context/messages/list", threadId=thread_id)
    calls = [row["entryIds"][0] for row in listed["messages"] if row["role"] == "tool"]
    return list(calls[:outputs])


def _items(outputs: int) -> list[Message]:
    """Returns what Codex is given after the masks."""
    items: list[Message] = []
    for number in range(outputs + NEWEST):
        events = turn_with_a_read(f"turn-{number}")
        recorded = [one for one in events if isinstance(one, ev.ContextItemsRecorded)]
        name = "" if number < outputs else None
        items += [msgspec.json.decode(masked_item(raw, name)) for raw in recorded[0].items]
    return items


def _mask(client: JsonRpcClient, thread_id: str, names: list[str]) -> float:
    """Returns the time in milliseconds until the session is ready."""
    command = {
        "type": "thread.context.mask",
        "commandId": new_uuid7(),
        "threadId": thread_id,
        "entryIds": names,
    }
    began = time.perf_counter()
    client.request("orchestration/dispatch", command=command)
    ended = client.until(_ends)
    taken_ms = (time.perf_counter() - began) * 1000
    if ended["params"]["payload"]["phase"] != "ready":
        raise RuntimeError("the outputs were not masked")
    return taken_ms


def _ends(message: Message) -> bool:
    params = message.get("params", {})
    is_step = params.get("type") == "thread.operation-advanced"
    return is_step and params["payload"]["phase"] in ("ready", "failed")
