"""Commits numbered records from several tasks, and prints which were acknowledged. Run by
`test_kill`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
from trimpoint.journal import FileJournal


async def run(path: Path) -> None:
    journal = await FileJournal.open(path)
    number = journal.durable.records

    async def committer() -> None:
        nonlocal number
        while True:
            mine, number = number, number + 1
            journal.append(b"%d " % mine + b"x" * (mine % 5000))
            await journal.commit()
            os.write(1, b"%d\n" % mine)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(committer)


anyio.run(run, Path(sys.argv[1]))
