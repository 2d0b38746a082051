"""Scenes of Codex in which several things happen to one conversation, one on top of the other."""

import base64
import json

from trimpoint.testkit import Reply, call, hang, http_error, reasoning, run, say

from tests.sessionlogs.make.codex_stage import SceneRow, Stage

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def reverted_to_the_beginning(stage: Stage) -> None:
    thread = await stage.begin()
    first = await stage.server.turn(thread, "first")
    await stage.server.turn(thread, "second")
    await stage.server.request("thread/revert", threadId=thread, beforeTurnId=first)
    await stage.server.turn(thread, "another first")
    await stage.server.turn(thread, "another second")


async def with_an_image(stage: Stage) -> None:
    """An image stays out of what a compaction keeps."""
    path = stage.cwd / "pixel.png"
    path.write_bytes(PIXEL)
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    image = {"type": "localImage", "path": str(path)}
    await stage.server.turn_with(thread, [{"type": "text", "text": "look"}, image])
    await stage.server.compact(thread)
    await stage.server.turn(thread, "third")


async def forked_twice(stage: Stage) -> None:
    """A fork of a fork; each is compacted and reverted, and the second behind its compaction."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "second")
    fork = await stage.fork(thread)
    await stage.server.turn(fork, "on the fork")
    await stage.server.compact(fork)
    again = await stage.server.turn(fork, "on the fork again")
    await stage.server.request("thread/revert", threadId=fork, beforeTurnId=again)
    await stage.server.turn(fork, "on the fork instead")
    second = await stage.fork(fork)
    before = await stage.server.turn(second, "on the second fork")
    await stage.server.compact(second)
    await stage.server.turn(second, "compacted")
    await stage.server.request("thread/revert", threadId=second, beforeTurnId=before)
    await stage.server.turn(second, "behind the compaction")


async def interrupted(stage: Stage) -> None:
    """One turn while the model speaks, one while a tool runs."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    stage.script.then(hang("partial words"))
    await stage.server.interrupt(thread, "second", "agentMessage")
    stage.script.then(run("sleep 60"))
    await stage.server.interrupt(thread, "third", "commandExecution")
    await stage.server.turn(thread, "fourth")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "fifth")


async def failed_tools(stage: Stage) -> None:
    thread = await stage.begin()
    stage.script.then(run("echo bad; exit 3"), say("it failed"))
    await stage.server.turn(thread, "first")
    stage.script.then(call("nope", {"a": 1}), say("no such tool"))
    await stage.server.turn(thread, "second")
    stage.script.then(run("echo one") + run("echo two"), say("both"))
    await stage.server.turn(thread, "third")
    stage.script.then(http_error(400))
    await stage.server.turn(thread, "fourth")
    stage.script.then(reasoning("a thought") + say("thought of it"))
    await stage.server.turn(thread, "fifth", model="gpt-5.1-codex-mini")
    await stage.server.turn(thread, "sixth")


async def torn_twice(stage: Stage) -> None:
    """Torn behind a compaction, and again in the file that a revert began."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "second")
    await stage.server.stop()
    stage.tear(40)
    async with stage.again() as server:
        await server.request("thread/resume", threadId=thread)
        await server.turn(thread, "third")  # Codex does not revert the turn behind a torn line
        fourth = await server.turn(thread, "fourth")
        await server.request("thread/revert", threadId=thread, beforeTurnId=fourth)
        await server.turn(thread, "another fourth")
        await server.stop()
    stage.tear(200)
    async with stage.again() as server:
        await server.request("thread/resume", threadId=thread)
        await server.compact(thread)
        await server.turn(thread, "fifth")


async def with_sub_agents(stage: Stage) -> None:
    """One sub-agent that begins with its task alone, and one that begins with the conversation."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    for text, forks in (("second", False), ("third", True)):
        arguments = json.dumps({"message": f"inner question of {text}", "fork_context": forks})
        spawn = {"type": "function_call", "namespace": "multi_agent_v1", "name": "spawn_agent"}
        stage.script.then(Reply(items=[spawn | {"arguments": arguments}]))
        seen = len(stage.server.notifications)
        content = [{"type": "text", "text": text}]
        await stage.server.request("turn/start", threadId=thread, input=content)
        await stage.server.until_turns_end(2, seen)
    await stage.server.turn(thread, "fourth")


MIXED: dict[str, SceneRow] = {
    "reverted-to-the-beginning": (reverted_to_the_beginning, False, []),
    "with-an-image": (with_an_image, False, []),
    "forked-twice": (forked_twice, False, []),
    "forked-twice-sealed": (forked_twice, True, []),
    "interrupted": (interrupted, False, []),
    "failed-tools": (failed_tools, False, []),
    "torn-twice": (torn_twice, False, []),
    "with-sub-agents": (with_sub_agents, False, ["features.multi_agent=true"]),
}
