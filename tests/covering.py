"""Which tests `scripts/test --coverage` runs: those that prove the coverage gates.

The fast tests reach all of the core, the codecs and the protocol. What is left of the rest, tests
with processes reach: one case of each, and none of those that go through the same code for the sake
of chance, kills, restarts or another program, for the tracer doubles what a test takes.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest
import trimpoint

TESTS = Path(__file__).parent
# Where coverage is measured in the programs of trimpoint that a test starts: once for each family of
# commands. A marker of its own does the same.
MEASURED_MODULES = frozenset(
    {
        "acp/test_permissions.py",
        "acp/test_prompts.py",
        "acp/test_sessions.py",
        "chat/test_program.py",
        "cli/threads/test_ask.py",
        "cli/threads/test_checkpoints.py",
        "cli/threads/test_commands.py",
        "cli/arguments/test_completion.py",
        "cli/threads/test_context.py",
        "cli/daemon/test_demo.py",
        "cli/daemon/test_doctor.py",
        "cli/daemon/test_http.py",
        "cli/daemon/test_journal.py",
        "cli/daemon/test_metrics.py",
        "cli/threads/test_probe.py",
        "cli/threads/test_search.py",
        "cli/daemon/test_serve.py",
        "cli/output/test_terminal.py",
        "cli/threads/test_threads.py",
        "cli/threads/test_watch.py",
        "fleet/test_command_line.py",
    }
)
UNMEASURED_FOLDERS = frozenset({"desktop", "forking", "fuzz", "neovim", "tui", "vscode", "web"})
NOT_IMPORTED = ("trimpoint.testkit", "trimpoint.desktop", "trimpoint.__main__", "trimpoint.tui")
UNMEASURED_MODULES = re.compile(r"test_(kill|random|races)|.*_killed\.py")


def covering(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Returns those of the items, in their order, that the gates need."""
    chosen: dict[str, pytest.Item] = {}
    for item in items:
        path = item.path.relative_to(TESTS)
        if not item.get_closest_marker("processes"):
            chosen[item.nodeid] = item
        elif (
            path.parts[0] not in UNMEASURED_FOLDERS
            and not UNMEASURED_MODULES.match(path.name)
            and not item.get_closest_marker("thorough")
            and "restarted" not in item.nodeid
        ):
            chosen.setdefault(item.nodeid.partition("[")[0], item)
    return list(chosen.values())


def import_all() -> None:
    """Imports what the programs of a test import, for they are forks of a program that has imported
    it before coverage is measured in them.
    """
    for module in walk_packages(trimpoint.__path__, "trimpoint."):
        if not module.name.startswith(NOT_IMPORTED):
            with suppress(ModuleNotFoundError):  # an extra that is not installed
                import_module(module.name)
