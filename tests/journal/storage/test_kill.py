from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.journal import Damage, FileJournal

pytestmark = pytest.mark.processes

WRITER = Path(__file__).parents[1] / "crashing_writer.py"


def acknowledged_before_kill(path: Path, at_least: int) -> list[int]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, str(WRITER), str(path)], env=environment, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(at_least)]
        process.kill()
        lines += process.stdout.readlines()
    return [int(line) for line in lines if line.endswith(b"\n")]


@pytest.mark.parametrize("rounds", [8])
async def test_a_killed_writer_loses_nothing_it_acknowledged(tmp_path: Path, rounds: int) -> None:
    path = tmp_path / "t.journal"
    for n in range(rounds):
        acknowledged = acknowledged_before_kill(path, at_least=40 + 31 * n)
        journal = await FileJournal.open(path)
        numbers = [int(bytes(record).split()[0]) for record in journal.read()]
        assert numbers == list(range(len(numbers)))
        assert set(acknowledged) <= set(numbers)
        assert journal.report.damage in (Damage.NONE, Damage.TORN_TAIL)
        await journal.close()
