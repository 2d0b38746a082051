"""One bad message costs one row, whatever it holds: in Neovim, and in what the page follows of a
running turn. The chat's rows are drawn in `tests/chat/test_hostile_rows.py` from the same entries.
"""

import random
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from tests.deadlines import SCENARIO_S
from tests.faces import hostile
from tests.neovim.editor import PLUGIN, neovim

SCRIPT = Path(__file__).parent / "lua" / "hostile.lua"
MODULES = Path(__file__).parents[2] / "web" / "app"
NODE = shutil.which("node")


def _line(seed: int) -> bytes:
    chance = random.Random(seed)
    if seed % 2:
        return msgspec.json.encode({"entry": hostile.entry(chance)})
    return msgspec.json.encode({"item": hostile.item(chance), "delta": hostile.value(chance)})


@pytest.mark.processes
def test_every_entry_and_item_is_drawn_in_neovim_whatever_it_holds(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"\n".join(_line(seed) for seed in range(hostile.SEEDS)))
    command = [neovim(), "--clean", "--cmd", f"set rtp^={PLUGIN}", "-l", str(SCRIPT), str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SCENARIO_S, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.processes
@pytest.mark.skipif(NODE is None, reason="Node.js is not installed")
def test_every_item_can_be_followed_by_the_page_whatever_it_holds(tmp_path: Path) -> None:
    lines = tmp_path / "lines"
    lines.write_bytes(b"\n".join(_line(seed) for seed in range(0, hostile.SEEDS, 2)))
    command = [str(NODE), str(SCRIPT.parents[1] / "hostile.mjs"), str(MODULES), str(lines)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SCENARIO_S, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
