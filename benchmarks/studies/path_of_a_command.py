"""Counts the functions and modules that `/clear 3` passes from the socket to the disk: `python -m
benchmarks.studies.path_of_a_command [--list]`.

A hop is a function of trimpoint that is on the stack of a task or thread when the command reaches
the disk. The count includes the stack that read the line, the chain of coroutines that waits for
the sync, and the stack of the thread that syncs.
"""

import argparse
import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Callable
from types import CodeType, CoroutineType, FrameType
from typing import Any

import anyio
from anyio.lowlevel import current_token
from trimpoint.cli.connection.client import connect
from trimpoint.codex.appserver.locate import find_codex
from trimpoint.demo.stage import opened_stage
from trimpoint.testkit import say

OURS = ("/trimpoint/", "/trimpoint_protocol/")
# Where a request begins in a task of its own.
TASK_BEGINS = "Gateway._begin"
# The request, and what jsonrpcserver runs for it in another task.
TASKS = frozenset({"_handle", "dispatch"})
KEPT_TURNS = 3
# Until the records of the last turn are on disk.
SETTLED_S = 1.0


class Recorder:
    """Records every call in this process from `start` to the first sync of a file."""

    def __init__(self) -> None:
        self.called: dict[CodeType, None] = {}
        self.spine: dict[CodeType, None] = {}
        self.synced = anyio.Event()
        self._loop_thread = threading.get_ident()
        self._coroutines: list[Callable[[], CoroutineType[Any, Any, Any] | None]] = []
        self._sync = os.fdatasync
        self._token = current_token()

    def start(self) -> None:
        """Starts recording."""
        os.fdatasync = self._on_sync  # type: ignore[assignment]
        threading.setprofile(self._on_call)
        sys.setprofile(self._on_call)

    def stop(self) -> None:
        """Stops recording."""
        sys.setprofile(None)
        threading.setprofile(None)
        os.fdatasync = self._sync

    def _on_call(self, frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not _is_ours(frame.f_code) or self.synced.is_set():
            return
        self.called.setdefault(frame.f_code)
        if frame.f_code.co_qualname == TASK_BEGINS and not self.spine:
            self.spine |= dict.fromkeys(_stack(frame))

    def _on_sync(self, descriptor: Any) -> None:
        if not self.synced.is_set():
            anyio.from_thread.run_sync(self._note_waiting, token=self._token)
            self.spine |= dict.fromkeys(_stack(inspect.currentframe()))
            anyio.from_thread.run_sync(self.synced.set, token=self._token)
        self._sync(descriptor)

    def _note_waiting(self) -> None:
        """Records the coroutines of the task that waits for the disk, the outermost first."""
        for task in asyncio.all_tasks():
            chain = _chain(task.get_coro())
            if any(code.co_name in TASKS for code in chain):
                self.spine |= dict.fromkeys(chain)


def _chain(coroutine: Any) -> list[CodeType]:
    codes: list[CodeType] = []
    while coroutine is not None and hasattr(coroutine, "cr_code"):
        if _is_ours(coroutine.cr_code):
            codes.append(coroutine.cr_code)
        coroutine = coroutine.cr_await
    return codes


def _stack(frame: FrameType | None) -> list[CodeType]:
    codes: list[CodeType] = []
    while frame is not None:
        if _is_ours(frame.f_code):
            codes.append(frame.f_code)
        frame = frame.f_back
    return codes[::-1]


def _is_ours(code: CodeType) -> bool:
    return any(part in code.co_filename for part in OURS) and not code.co_name.startswith("<")


def _module(code: CodeType) -> str:
    return code.co_filename.rpartition("/trimpoint")[2].removeprefix("/").removeprefix("_protocol/")


async def measured() -> Recorder:
    """Runs a daemon with the real Codex in this process, and one `/clear 3` of a client; returns
    the recorder.
    """
    async with opened_stage(find_codex().path) as stage, connect(stage.socket) as client:
        await client.initialize("path")
        thread = (
            await client.request("thread/start", cwd=str(stage.worktree), approvalPolicy="never")
        )["thread"]
        for number in range(KEPT_TURNS + 1):
            stage.script.then(say(f"answer {number}"))
            seen = len(client.notifications)
            prompt = [{"type": "text", "text": f"prompt {number}"}]
            await client.request("turn/start", threadId=thread["id"], input=prompt)
            await client.received("turn/completed", after=seen)
        await anyio.sleep(SETTLED_S)
        recorder = Recorder()
        recorder.start()
        try:
            await client.request(
                "commands/execute", threadId=thread["id"], text=f"/clear {KEPT_TURNS}"
            )
        finally:
            recorder.stop()
        return recorder


def main() -> None:
    """Prints the counts, and with `--list` every hop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name every hop")
    arguments = parser.parse_args()
    recorder = anyio.run(measured)
    if arguments.list:
        for code in recorder.spine:
            print(f"{_module(code)}:{code.co_firstlineno} {code.co_qualname}")
    modules = {_module(code) for code in recorder.spine}
    print(f"hops {len(recorder.spine)} in {len(modules)} modules")
    print(
        f"all functions called {len(recorder.called)} in "
        f"{len({_module(code) for code in recorder.called})} modules"
    )


if __name__ == "__main__":
    main()
