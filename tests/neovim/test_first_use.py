"""The first `:Trimpoint chat` in a fresh Neovim, in every way that the plugin is installed."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from trimpoint.testkit import say

from tests.cli.stage import opened_stage
from tests.neovim.editor import OLDEST, PLUGIN, neovim, opened_editor
from tests.neovim.stage import Chat, configure

pytestmark = pytest.mark.codex

DEBIANS = Path("/usr/bin/nvim")


def version_of(program: str) -> tuple[int, int]:
    """Returns the version of a Neovim."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    found = re.match(r"NVIM v(\d+)\.(\d+)", said.stdout)
    assert found is not None
    return int(found[1]), int(found[2])


def of_the_distribution() -> str:
    """Returns the distribution's Neovim; skips the test if it is missing or too old."""
    if not DEBIANS.exists():
        pytest.skip("the distribution's Neovim is not installed (Debian: neovim)")
    if version_of(str(DEBIANS)) < OLDEST:
        pytest.skip("the distribution's Neovim is older than 0.10")
    return str(DEBIANS)


@pytest.mark.parametrize("program", [neovim, of_the_distribution], ids=["pypi", "distribution"])
async def test_the_first_chat_starts_the_daemon_and_needs_no_setup(program) -> None:  # noqa: ANN001
    path = program()
    async with opened_stage() as house:
        configure(house)
        environment = house.with_program_on_path()
        assert house.background_daemons() == []
        async with opened_editor(environment, house.worktree, program=path) as editor:
            await editor.command("Trimpoint chat")
            # The window is there before the daemon, and what is typed meanwhile is sent.
            await editor.shows("Ask, or type")
            await Chat(house, editor).turns("Who are you?|I am a **script**.")
            await editor.shows("I am a script.")
            assert len(house.background_daemons()) == 1


def _built_in(home: Path) -> tuple[str, ...]:
    folder = home / ".local" / "share" / "nvim" / "site" / "pack" / "any" / "start"
    folder.mkdir(parents=True)
    shutil.copytree(PLUGIN, folder / "trimpoint")
    return ("-u", "NORC")


def _vim_plug(home: Path) -> tuple[str, ...]:
    # What vim-plug does with `Plug 'owner/trimpoint', { 'rtp': 'editors/neovim' }`.
    configuration = home / "init.vim"
    configuration.write_text(
        f"set nocompatible\nset rtp^={PLUGIN}\nfiletype plugin indent on\nsyntax enable\n"
    )
    return ("-u", str(configuration))


def _lazy(home: Path) -> tuple[str, ...]:
    # What lazy.nvim does for `cmd = "Trimpoint"`: it resets the runtimepath and loads no plugins by
    # itself; at the command it puts the plugin on the runtimepath, sources plugin/ and repeats it.
    configuration = home / "init.lua"
    configuration.write_text(
        f"""
        vim.go.loadplugins = false
        vim.opt.rtp = {{ vim.env.VIMRUNTIME }}
        vim.cmd("filetype plugin indent on")
        vim.api.nvim_create_user_command("Trimpoint", function(options)
          vim.api.nvim_del_user_command("Trimpoint")
          vim.opt.rtp:prepend({str(PLUGIN)!r})
          vim.cmd.source({str(PLUGIN / "plugin" / "trimpoint.lua")!r})
          vim.cmd.Trimpoint({{ args = options.fargs, bang = options.bang }})
        end, {{ nargs = "*", bang = true, range = true }})
        """
    )
    return ("-u", str(configuration))


@pytest.mark.parametrize("install", [_built_in, _vim_plug, _lazy])
async def test_the_plugin_loads_under_each_plugin_manager(install) -> None:  # noqa: ANN001
    async with opened_stage() as house:
        configure(house)
        options = install(house.folder / "home")
        environment = house.with_program_on_path()
        async with (
            house.daemon_alone(),
            opened_editor(environment, house.worktree, *options) as editor,
        ):
            assert await editor.lua("return package.loaded['trimpoint.ui.chat'] == nil")
            await editor.command("Trimpoint chat")
            await editor.shows("Ask, or type")
            assert await editor.lua("return vim.fn.exists(':Trimpoint')") == 2
            house.script.then(say("I am"))
            await Chat(house, editor).type("Are you there?")
            await editor.history_has("I am")
            assert "❯ Are you there?" in await editor.history()
