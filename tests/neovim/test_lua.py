"""The plugin's own Lua, in a Neovim without other plugins."""

import subprocess
from pathlib import Path

import pytest

from tests.deadlines import STEP_S
from tests.neovim.editor import PLUGIN, neovim

pytestmark = pytest.mark.processes

SCRIPTS = sorted((Path(__file__).parent / "lua").glob("*.lua"))


def lua(script: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a script in Neovim, with the plugin on the runtimepath."""
    command = [neovim(), "--clean", "--cmd", f"set rtp^={PLUGIN}", *words, "-l", str(script)]
    return subprocess.run(command, capture_output=True, text=True, timeout=STEP_S, check=False)


@pytest.mark.each_case(reason="each script tests another module")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_assertions_of_each_script_hold(script: Path) -> None:
    done = lua(script)
    assert done.returncode == 0, done.stderr


def test_a_script_whose_assertion_fails_is_seen_to_fail(tmp_path: Path) -> None:
    script = tmp_path / "wrong.lua"
    script.write_text("assert(false, 'so it is')")
    done = lua(script)
    assert done.returncode != 0
    assert "so it is" in done.stderr


def test_no_module_is_loaded_before_its_first_use(tmp_path: Path) -> None:
    script = tmp_path / "loaded.lua"
    script.write_text(
        "vim.cmd.runtime('plugin/trimpoint.lua')\n"
        "assert(vim.fn.exists(':Trimpoint') == 2)\n"
        "assert(require('trimpoint').statusline() == '')\n"
        "for name in pairs(package.loaded) do\n"
        "  assert(not name:find('^trimpoint%.'), name)\n"
        "end\n"
    )
    done = lua(script)
    assert done.returncode == 0, done.stderr
