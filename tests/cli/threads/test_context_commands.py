"""`trimpoint pin`, `unpin`, `pins`, `undo` and `context --items` in a shell."""

import pytest

from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex


async def test_a_shell_pins_trims_undoes_and_looks(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for text in ("first.", "second."):
            await stage.turn(client, thread, text)
        pinned = await stage.run("pin", "1", "the", "rules")
        listed = await stage.run("pins")
        cleared = await stage.run("clear")
        items = await stage.run("context", "--items")
        document = (await stage.run("context", "--items", "--json")).json()
        planned = await stage.run("undo", "--dry-run")
        undone = await stage.run("undo")
        redone = await stage.run("undo", "--redo")
        gone = await stage.run("unpin", "1")
        again = await stage.run("unpin")
    assert "Pinned: turn 1. 1 pin of about" in pinned.out
    assert pinned.out.splitlines()[-1] == "To undo: trimpoint unpin 1"
    assert "1. turn 1: the rules, about" in listed.out
    assert "1 pinned kept." in cleared.out
    assert cleared.out.splitlines()[-1] == "To undo: trimpoint undo"
    assert "(pinned)" in items.out
    assert [one["pinned"] for one in document["items"]].count(True) == 2
    assert "Would undo /clear: 2 messages in 1 turn" in planned.out
    assert undone.out.splitlines()[-1] == "To undo: trimpoint undo --redo"
    assert "Done again." in redone.out
    assert (gone.code, "Unpinned" in gone.out) == (0, True)
    assert (again.code, "nothing is pinned" in again.out) == (3, True)
