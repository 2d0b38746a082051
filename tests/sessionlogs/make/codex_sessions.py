"""Drives a real Codex against the scripted model and keeps the rollouts that it writes.

    python -m tests.sessionlogs.make.codex_sessions CODEX OUT

Each scene is a conversation of its own. Its folder gets the rollouts, and in `inputs.json` what the
model was sent each time. Nothing of the machine stays in them.
"""

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import anyio
import msgspec
import zstandard
from trimpoint.testkit import run, say
from trimpoint.testkit.replies import Usage

from tests.sessionlogs.make.cleaning import clean_lines, write
from tests.sessionlogs.make.codex_mixed import MIXED
from tests.sessionlogs.make.codex_rewritten import REWRITTEN
from tests.sessionlogs.make.codex_stage import LIMIT, SceneRow, Stage, staged


async def compacted_by_hand(stage: Stage) -> None:
    thread = await stage.begin()
    for text in ("first", "second"):
        await stage.server.turn(thread, text)
    stage.script.then(run("echo tool-output"), say("the tool has answered"))
    await stage.server.turn(thread, "third")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "fourth")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "fifth")


async def compacted_before_a_turn(stage: Stage) -> None:
    """Codex compacts automatically because the last usage is above the limit."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    stage.script.then(say("a large answer", usage=Usage(input_tokens=9_500)))
    await stage.server.turn(thread, "second")
    await stage.server.turn(thread, "third")
    await stage.server.turn(thread, "fourth")


async def compacted_within_a_turn(stage: Stage) -> None:
    """Codex compacts in the middle of a turn, after a tool's result."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    stage.script.then(
        replace(run("echo much"), usage=Usage(input_tokens=9_500)), say("after the compaction")
    )
    await stage.server.turn(thread, "second")
    await stage.server.turn(thread, "third")


async def reverted(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    second = await stage.server.turn(thread, "second")
    await stage.server.turn(thread, "third")
    await stage.server.request("thread/revert", threadId=thread, beforeTurnId=second)
    await stage.server.turn(thread, "another second")


async def reverted_behind_a_compaction(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    second = await stage.server.turn(thread, "second")
    await stage.server.compact(thread)
    await stage.server.turn(thread, "third")
    await stage.server.request("thread/revert", threadId=thread, beforeTurnId=second)
    await stage.server.turn(thread, "another second")


async def forked(stage: Stage) -> None:
    thread = await stage.begin()
    first = await stage.server.turn(thread, "first")
    await stage.server.turn(thread, "second")
    fork = await stage.fork(thread, lastTurnId=first)
    await stage.server.turn(fork, "on the fork")
    await stage.server.compact(fork)
    await stage.server.turn(fork, "after the compaction")


async def cleared(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "before")
    after = await stage.begin(sessionStartSource="clear")
    await stage.server.turn(after, "after")


async def torn(stage: Stage) -> None:
    """The last line is torn as by a crash; the thread is resumed then."""
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.turn(thread, "second")
    await stage.server.stop()
    stage.tear(40)
    async with stage.again() as server:
        await server.request("thread/resume", threadId=thread)
        await server.turn(thread, "third")


async def archived(stage: Stage) -> None:
    thread = await stage.begin()
    await stage.server.turn(thread, "first")
    await stage.server.request("thread/archive", threadId=thread)


async def injected(stage: Stage) -> None:
    thread = await stage.begin()
    item = {
        "type": "message",
        "role": "user",
        "content": [
            {
                "type": "input_text",
                "text": "<conversation-summary messages=2>S</conversation-summary>",
            }
        ],
    }
    await stage.server.request("thread/inject_items", threadId=thread, items=[item])
    await stage.server.turn(thread, "first")


SCENES: dict[str, SceneRow] = {
    "compacted-by-hand": (compacted_by_hand, False, []),
    "compacted-by-hand-sealed": (compacted_by_hand, True, []),
    "compacted-before-a-turn": (compacted_before_a_turn, False, LIMIT),
    "compacted-within-a-turn": (compacted_within_a_turn, False, LIMIT),
    "reverted": (reverted, False, []),
    "reverted-behind-a-compaction": (reverted_behind_a_compaction, False, []),
    "forked": (forked, False, []),
    "cleared": (cleared, False, []),
    "injected": (injected, False, []),
    "torn": (torn, False, []),
    "archived": (archived, False, []),
    **MIXED,
    **REWRITTEN,
}


async def make(codex: list[str], out: Path, names: list[str]) -> None:
    """Plays the scenes and writes what came of them below `out`."""
    for name in names or SCENES:
        scene, sealed, more = SCENES[name]
        folder = out / name
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as work, anyio.fail_after(120):
            async with staged(codex, Path(work), sealed, more) as (stage, model):
                await scene(stage)
                _keep(stage, folder)
                inputs = [
                    {"kind": request.kind, "input": request.body["input"]}
                    for request in model.requests
                ]
                cleaned = clean_lines(msgspec.json.encode(inputs), _replaced(stage))
                write(folder, "inputs.json", cleaned)
        print(name, flush=True)


def _replaced(stage: Stage) -> dict[str, str]:
    return {
        str(stage.cwd): "/home/you/project",
        str(stage.home): "/home/you/.codex",
        str(Path.home()): "/home/you",
    }


def _keep(stage: Stage, folder: Path) -> None:
    replaced = _replaced(stage)
    for kind in ("sessions", "archived_sessions"):
        for path in sorted((stage.home / kind).rglob("rollout-*")):
            write(folder, str(path.relative_to(stage.home)), _cleaned(path, replaced))


def _cleaned(path: Path, replaced: dict[str, str]) -> bytes:
    """Returns the content of a rollout; one frame that tells its size, where Codex made such."""
    data = path.read_bytes()
    if path.suffix != ".zst":
        return clean_lines(data, replaced)
    lines = clean_lines(zstandard.decompress(data), replaced)
    return zstandard.ZstdCompressor(write_checksum=False).compress(lines)


if __name__ == "__main__":
    anyio.run(make, sys.argv[1].split(), Path(sys.argv[2]), sys.argv[3:])
