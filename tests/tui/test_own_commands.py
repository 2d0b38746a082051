"""Each command in the menu of Codex's own terminal UI is known, so that none is taken for a slip of
the fingers.
"""

import re
from pathlib import Path

import anyio
import pytest
from trimpoint.core.commands.parsing import OTHERS_COMMANDS
from trimpoint.core.commands.registry import REGISTRY

from tests.e2e.conftest import opened_harness
from tests.tui.stage import BINARIES, SCREEN_READ_S, attached

pytestmark = pytest.mark.codex
_ROW = re.compile(r"^ *[›>]? *\+?/([a-z][\w-]*)  ", re.MULTILINE)
_ROWS, _DOWN = 8, b"\x1b[B"


@pytest.mark.each_case(reason="each version has commands of its own")
@pytest.mark.parametrize("codex", BINARIES, ids=lambda path: "/".join(path.parts[-3:]))
async def test_every_command_of_codexs_own_menu_is_known(codex: Path) -> None:
    found = set[str]()
    with anyio.fail_after(SCREEN_READ_S):
        async with (
            opened_harness() as harness,
            harness.daemon(),
            attached(harness, codex) as terminal,
        ):
            await terminal.types("/", enter=False)
            await terminal.shows(lambda text: len(_ROW.findall(text)) == _ROWS)
            seen = list[str]()
            while terminal.text not in seen:  # from the last row it goes to the first
                seen.append(terminal.text)
                found.update(_ROW.findall(terminal.text))
                terminal.presses(_DOWN * (_ROWS - 1))
                await terminal.types("", enter=False)
    known = OTHERS_COMMANDS | set(REGISTRY)
    assert sorted(found - known) == []
    assert len(found) > 20
