"""Scenes of Codex in which the files of a thread are written anew while nobody works with it:
migrated, compressed, or as another version would have written them.
"""

import os
from typing import Any

import anyio
from trimpoint.testkit import codex_environment, run, say

from tests.sessionlogs.make.codex_stage import SceneRow, Stage

# Codex compresses what has been idle for so many days, once the feature is on.
COMPRESSED = ["features.local_thread_store_compression=true"]
IDLE_S = 30 * 86_400
PREFACE_ENDS = b"Here is the summary produced by the other language model, use the information"
OTHER_PREFACE = b"Here is what the other language model wrote about it, use the information"


async def migrated(stage: Stage) -> None:
    """A legacy thread and its fork, migrated; both go on, and the fork is reverted and forked."""
    thread = await stage.begin(historyMode="legacy")
    await stage.server.turn(thread, "first")
    await stage.server.turn(thread, "second")
    await stage.server.compact(thread)
    stage.script.then(run("echo tool-output"), say("the tool has answered"))
    await stage.server.turn(thread, "third")
    fork = await stage.fork(thread)
    await stage.server.turn(fork, "on the fork")
    await stage.server.compact(fork)
    await stage.server.turn(fork, "on the fork again")
    await stage.server.stop()
    await _migrate(stage)
    async with stage.again() as server:
        await server.request("thread/resume", threadId=thread)
        await server.turn(thread, "migrated")
        await server.request("thread/resume", threadId=fork)
        reverted = await server.turn(fork, "on the migrated fork")
        await server.compact(fork)
        await server.turn(fork, "compacted")
        await server.request("thread/revert", threadId=fork, beforeTurnId=reverted)
        await server.turn(fork, "on the migrated fork instead")
        answer = await server.request("thread/fork", threadId=fork)
        await server.turn(str(answer["thread"]["id"]), "on a fork of it")
        await server.stop()


async def only_migrated(stage: Stage) -> None:
    """A legacy thread that was compacted, as the migration leaves it."""
    thread = await stage.begin(historyMode="legacy")
    await stage.server.turn(thread, "first")
    await stage.server.compact(thread)
    stage.script.then(run("echo tool-output"), say("reply with a tool"))
    await stage.server.turn(thread, "second")
    await stage.server.stop()
    await _migrate(stage)


async def _migrate(stage: Stage) -> None:
    command = [*stage.codex, "migrate-rollouts", "--apply", "--json"]
    await anyio.run_process(command, env=codex_environment(stage.home), cwd=stage.cwd)


async def compressed(stage: Stage) -> None:
    """A reverted and compacted thread that Codex has compressed, and another that goes on."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    second = await stage.server.turn(thread, "second")
    await stage.server.request("thread/revert", threadId=thread, beforeTurnId=second)
    await stage.server.turn(thread, "another second")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "third")
    other = await stage.begin()
    await stage.server.turn(other, "another thread")
    await stage.server.stop()
    for path in stage.rollouts():
        old = path.stat().st_mtime - IDLE_S
        os.utime(path, (old, old))
    async with stage.again() as server:
        await server.request("thread/start", cwd=str(stage.cwd))
        while any(path.suffix != ".zst" for path in stage.rollouts()):  # noqa: ASYNC110 (files)
            await anyio.sleep(0.1)
        await server.request("thread/resume", threadId=other)
        await server.turn(other, "another thread again")
        await server.stop()


async def with_a_summary_of_another_version(stage: Stage) -> None:
    """Codex keeps a summary whose preface it does not know as if it were a prompt."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "second")
    await stage.server.stop()
    for path in stage.rollouts():
        path.write_bytes(path.read_bytes().replace(PREFACE_ENDS, OTHER_PREFACE))
    async with stage.again() as server:
        await server.request("thread/resume", threadId=thread)
        stage.script.summary = "ANOTHER SUMMARY"
        await server.turn(thread, "third")
        await server.compact(thread)
        await server.turn(thread, "fourth")
        await server.compact(thread)
        await server.turn(thread, "fifth")
        await server.stop()


async def given_a_summary(stage: Stage) -> None:
    """A thread that begins with a summary it was given, as trimpoint gives it, is compacted."""
    thread = await stage.begin()
    text = "<conversation-summary messages=2>GIVEN</conversation-summary>"
    item: dict[str, Any] = {"type": "message", "role": "user"}
    item["content"] = [{"type": "input_text", "text": text}]
    await stage.server.request("thread/inject_items", threadId=thread, items=[item])
    await stage.server.turn(thread, "first")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "second")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "third")


REWRITTEN: dict[str, SceneRow] = {
    "migrated": (migrated, False, []),
    "only-migrated": (only_migrated, False, []),
    "compressed": (compressed, False, COMPRESSED),
    "with-a-summary-of-another-version": (with_a_summary_of_another_version, False, []),
    "given-a-summary-sealed": (given_a_summary, True, []),
}
