"""Long output on a terminal is shown in a pager, other output is not."""

import sys
from pathlib import Path

import pytest
from trimpoint.cli.pager import pager_command

from tests.cli.stage import CliHarness, Terminal

TERM = {"TERM": "xterm-256color"}


@pytest.mark.parametrize(
    ("environ", "command"),
    [
        (TERM | {"PAGER": f"{sys.executable} -u"}, [sys.executable, "-u"]),
        (TERM | {"PAGER": "cat"}, []),
        (TERM | {"PAGER": ""}, []),
        (TERM | {"PAGER": "'"}, []),
        (TERM | {"PAGER": "no-such-pager"}, []),
        (TERM | {"PAGER": sys.executable, "NO_PAGER": "1"}, []),
        ({"TERM": "dumb", "PAGER": sys.executable}, []),
        ({"PAGER": sys.executable}, []),
    ],
)
def test_the_environment_says_which_pager(environ: dict[str, str], command: list[str]) -> None:
    assert pager_command(environ) == command


@pytest.mark.codex
async def test_a_timeline_goes_through_the_pager_on_a_terminal_only(
    stage: CliHarness, terminal: Terminal, tmp_path: Path
) -> None:
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\necho PAGED LESS=$LESS\ncat\n")
    pager.chmod(0o755)
    paged = stage.environment | TERM | {"PAGER": str(pager)}
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        await stage.turn(client, thread_id, "hello there " + "and more " * 250)
        options = {"stdout": terminal.fd, "env": paged}
        async with stage.running("timeline", **options) as timeline:
            assert await timeline.ended() == 0, timeline.err
        screen = await terminal.rest()
        assert "PAGED LESS=FRX" in screen
        assert "hello there" in screen.partition("PAGED")[2]
        assert "\x1b[1m" in screen, "colours are passed on"
        plain = await stage.run("timeline", PAGER=str(pager), TERM="xterm-256color")
        assert (plain.code, "PAGED" in plain.out, "hello there" in plain.out) == (0, False, True)


@pytest.mark.codex
async def test_a_pager_that_ends_early_ends_the_command_well(
    stage: CliHarness, terminal: Terminal
) -> None:
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        await stage.turn(client, thread_id, "a long prompt " * 20_000)
        options = {"stdout": terminal.fd, "env": stage.environment | TERM | {"PAGER": "head -n 1"}}
        async with stage.running("timeline", **options) as timeline:
            assert await timeline.ended() == 0, timeline.err
            assert timeline.err.count("\n") == 1, "only the thread is named"


@pytest.mark.codex
async def test_an_answer_that_fits_on_the_screen_is_not_paged(
    stage: CliHarness, terminal: Terminal
) -> None:
    async with stage.daemon() as client:
        await stage.turn(client, await stage.thread(client), "hello there")
        # A Python would say that this is none.
        environment = stage.environment | TERM | {"PAGER": sys.executable}
        options = {"stdout": terminal.fd, "env": environment}
        async with stage.running("timeline", **options) as timeline:
            assert await timeline.ended() == 0, timeline.err
        assert "hello there" in await terminal.rest()
