"""A process that restores files and kills itself at a certain call: `restoring_process <folder>
<present> <target> <call> <number>`. Run by test_killed_restore.
"""

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
from trimpoint.git.plumbing import atomic_rename, staging
from trimpoint.git.restore import file_transaction
from trimpoint.git.restore.plan import plan_restore
from trimpoint.git.restore.restore import restore

from tests.git.worktrees import found

CALLS: dict[str, tuple[Any, str]] = {
    "write": (staging.Staging, "write"),
    "complete": (staging.Staging, "complete"),
    "move": (atomic_rename, "_renamed"),
    "check": (file_transaction, "_check"),
    "close": (staging.Staging, "close"),
}


def _die_at(owner: Any, name: str, number: int) -> None:
    real: Callable[..., Any] = getattr(owner, name)
    calls: list[int] = []

    def dying(*arguments: Any) -> Any:
        calls.append(len(calls))
        if len(calls) > number:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments)

    setattr(owner, name, dying)


async def _main(folder: Path, present: str, target: str) -> None:
    repository = await found(folder)
    await restore(
        repository,
        await plan_restore(repository, present=present, last_seen=present, target=target),
    )


if __name__ == "__main__":
    _die_at(*CALLS[sys.argv[4]], int(sys.argv[5]))
    anyio.run(_main, Path(sys.argv[1]), sys.argv[2], sys.argv[3])
