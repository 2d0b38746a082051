"""Ctrl-C while `trimpoint` is being imported ends it quietly."""

import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable

import pytest

from tests.cli.stage import ROOT

pytestmark = pytest.mark.processes

ENTRY = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["trimpoint"]
MODULE, _, FUNCTION = ENTRY.partition(":")
INTERRUPTED = """
import os, signal, sys
class Interrupt:
    def find_spec(name, *_):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt)
sys.argv[1:] = ["help", "clear"]
"""
WAYS = {
    "installed": f"from {MODULE} import {FUNCTION} as run; sys.exit(run())",
    "python -m": "import runpy; runpy.run_module('trimpoint', run_name='__main__')",
}


def interrupted(
    module: str, way: str, before: Callable[[], object] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs `trimpoint help clear`, interrupted when it imports a module."""
    program = INTERRUPTED.format(module=module) + WAYS[way]
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        preexec_fn=before,
        check=False,
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "module", ["trimpoint.cli.main", "argparse", "trimpoint.cli.parsing.arguments"]
)
def test_a_command_that_is_interrupted_while_it_is_imported_ends_quietly(
    module: str, way: str
) -> None:
    done = interrupted(module, way)
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_a_command_for_which_ctrl_c_is_ignored_goes_on() -> None:
    done = interrupted(
        "trimpoint.cli.main",
        "installed",
        lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "clear" in done.stdout
