"""`trimpoint compact --edit` and `summary edit` on a terminal: the person's own editor shows the draft, and the person
decides about it; elsewhere it is in the JSON.
"""

import signal
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import hang, say

from tests.cli.stage import CliHarness, Running, Terminal

pytestmark = pytest.mark.codex
QUESTION = "what a new"


def editor(stage: CliHarness, *lines: str) -> str:
    """Makes an editor that runs these lines of a shell on its file, `$1`."""
    program = stage.folder / "editor"
    program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return str(program)


@asynccontextmanager
async def editing(
    stage: CliHarness, terminal: Terminal, *words: str, by: str
) -> AsyncGenerator[Running]:
    """Runs a command on the terminal with this editor."""
    ends = {"stdin": terminal.fd, "stdout": terminal.fd, "stderr": terminal.fd}
    env = stage.environment | {"EDITOR": by, "VISUAL": ""}
    async with stage.running(*words, env=env, **ends) as running:
        yield running


async def told(stage: CliHarness, client: Client, count: int = 3) -> str:
    thread = await stage.thread(client)
    for number in range(1, count + 1):
        await stage.turn(client, thread, f"prompt-{number}.")
    return thread


async def test_the_editor_changes_the_summary_and_the_person_takes_it(
    stage: CliHarness, terminal: Terminal
) -> None:
    by = editor(stage, 'echo "--- and $(cat "$1")" > "$1"')
    async with stage.daemon() as client:
        thread = await told(stage, client)
        async with editing(stage, terminal, "compact", "--edit", "--keep", "1", by=by) as compact:
            await terminal.shows(QUESTION)
            terminal.press("e\n")
            await terminal.shows("e\r\n")
            terminal.screen = ""
            await terminal.shows(QUESTION)
            terminal.press("\n")
            assert await compact.ended() == 0
            await terminal.shows("trimpoint undo")
        await stage.turn(client, thread, "prompt-4.")
        seen = stage.model.turn_requests()[-1]
        assert seen.mentions("--- and --- and The gist of it all.")
        assert (seen.mentions("prompt-3."), seen.mentions("prompt-2.")) == (True, False)


@pytest.mark.parametrize(
    ("lines", "said"),
    [(["exit 3"], "did not end well"), (['echo > "$1"'], "left no text")],
    ids=["failing", "empty"],
)
async def test_an_editor_that_fails_or_leaves_nothing_changes_nothing(
    stage: CliHarness, terminal: Terminal, lines: list[str], said: str
) -> None:
    async with stage.daemon() as client:
        thread = await told(stage, client)
        by = editor(stage, *lines)
        async with editing(stage, terminal, "compact", "--edit", by=by) as compact:
            assert await compact.ended() == 1
            await terminal.shows(said)
            await terminal.shows("trimpoint accept")
        await stage.turn(client, thread, "prompt-4.")
        assert stage.model.turn_requests()[-1].mentions("prompt-1.")
        assert (await stage.run("accept", "my words")).code == 0
        await stage.turn(client, thread, "prompt-5.")
        seen = stage.model.turn_requests()[-1]
        assert (seen.mentions("my words"), seen.mentions("prompt-4.")) == (True, True)


async def test_other_words_are_the_guidance_of_a_new_draft_and_n_leaves_everything(
    stage: CliHarness, terminal: Terminal
) -> None:
    async with stage.daemon() as client:
        thread = await told(stage, client)
        async with editing(stage, terminal, "compact", "--edit", "names", by="true") as compact:
            await terminal.shows(QUESTION)
            terminal.press("mind the dates\n")
            terminal.screen = ""
            await terminal.shows(QUESTION)
            terminal.press("n\n")
            assert await compact.ended() == 1
            await terminal.shows("Nothing was changed.")
        first, second = (one for one in stage.model.requests if one.kind != "turn")
        assert first.mentions("guidance: names")
        assert second.mentions("guidance: mind the dates")
        await stage.turn(client, thread, "prompt-4.")
        assert stage.model.turn_requests()[-1].mentions("prompt-1.")


@pytest.mark.parametrize("answer", ["no", "mind the dates"])
async def test_what_the_person_wrote_is_kept_where_the_person_does_not_take_it(
    stage: CliHarness, terminal: Terminal, answer: str
) -> None:
    by = editor(stage, 'echo "my own words" > "$1"')
    async with stage.daemon() as client:
        await told(stage, client)
        async with editing(stage, terminal, "compact", "--edit", by=by) as compact:
            await terminal.shows(QUESTION)
            terminal.press(f"{answer}\n")
            await terminal.shows("What you wrote is in")
            if answer != "no":
                terminal.screen = ""
                await terminal.shows(QUESTION)
                terminal.press("n\n")
            assert await compact.ended() == 1


async def test_what_the_person_wrote_is_kept_where_it_is_not_taken(
    stage: CliHarness, terminal: Terminal
) -> None:
    by = editor(stage, 'echo "my own words" > "$1"')
    async with stage.daemon() as client:
        await told(stage, client)
        async with editing(stage, terminal, "compact", "--edit", by=by) as compact:
            await terminal.shows(QUESTION)
            assert (await stage.run("clear", "1")).code == 0
            terminal.press("\n")
            assert await compact.ended() == 2
            await terminal.shows("no draft")
            await terminal.shows("What you wrote is in ")
            await terminal.shows("text.md")
    named = "".join(terminal.screen.rpartition("What you wrote is in ")[2].split())
    with open(named[: named.index(".md") + 3]) as kept:  # noqa: ASYNC230
        assert kept.read() == "my own words"


async def test_without_a_terminal_the_draft_is_in_the_json_and_nothing_else_is_asked(
    stage: CliHarness,
) -> None:
    async with stage.daemon() as client:
        thread = await told(stage, client)
        refused = await stage.run("compact", "--edit")
        assert (refused.code, stage.model.requests[-1].kind) == (2, "turn")
        assert "An editor needs a terminal" in refused.err
        assert (await stage.run("compact", "--edit", "--dry-run")).code == 0
        drafted = (await stage.run("compact", "--edit", "--json")).json()
        assert drafted["draft"]["text"] == "The gist of it all."
        taken = (await stage.run("accept", "--json")).json()
        assert (taken["status"], taken["summary"]) == ("completed", "The gist of it all.")
        await stage.turn(client, thread, "prompt-4.")
        assert stage.model.turn_requests()[-1].mentions("The gist of it all.")


async def test_ctrl_c_ends_a_draft_and_changes_nothing(
    stage: CliHarness, terminal: Terminal
) -> None:
    async with stage.daemon() as client:
        await told(stage, client)
        stage.script.at_compaction(hang("a summary that"))
        async with editing(stage, terminal, "compact", "1..2", "--edit", by="true") as compact:
            await stage.model.wait_for_request(lambda request: request.kind != "turn")
            compact.process.send_signal(signal.SIGINT)
            assert await compact.ended() == -signal.SIGINT
            await terminal.shows("Cancelled. The agent's context is as it was.")
        assert (await stage.run("accept")).code == 2


async def test_the_live_summary_is_shown_and_edited(stage: CliHarness, terminal: Terminal) -> None:
    by = editor(stage, 'echo "And $(cat "$1")" > "$1"')
    async with stage.daemon() as client:
        thread = await told(stage, client)
        assert (await stage.run("summary", "edit", "mine")).code == 3
        assert (await stage.run("compact", "--force")).code == 0
        assert "The gist of it all." in (await stage.run("summary")).out
        given = await stage.run("summary", "edit")
        assert "trimpoint summary edit TEXT puts your text in its place" in given.out
        async with editing(stage, terminal, "summary", "edit", by=by) as edit:
            await terminal.shows("n leaves everything as it is: ")
            terminal.press("words\n")
            terminal.screen = ""
            await terminal.shows("n leaves everything as it is: ")
            terminal.press("\n")
            assert await edit.ended() == 0
            await terminal.shows("your summary now")
        await stage.turn(client, thread, "prompt-4.")
        assert stage.model.turn_requests()[-1].mentions("And The gist of it all.")
        assert (await stage.run("summary", "--json", "edit", "mine")).json()["summary"] == "mine"


async def test_a_brief_is_edited_and_begins_a_new_thread_that_both_timelines_name(
    stage: CliHarness, terminal: Terminal
) -> None:
    by = editor(stage, 'echo "Read a.py. $(cat "$1")" > "$1"')
    async with stage.daemon() as client:
        thread = await told(stage, client, 2)
        stage.script.then(say("The tests are open."), say("I begin."))
        words = ("handoff", "-t", thread, "write", "the", "tests")
        async with editing(stage, terminal, *words, by=by) as handoff:
            await terminal.shows(QUESTION)
            terminal.press("\n")
            assert await handoff.ended() == 0
            await terminal.shows("A new thread begins with the brief")
        begun = await stage.model.wait_for_request(
            lambda one: one.mentions("Read a.py. The tests are open.")
        )
        assert not begun.mentions("prompt-1.")
        old = await stage.run("timeline", "-t", thread)
        assert "Handed off to the thread " in old.out
        assert old.out.rstrip().endswith(": write the tests")
        stage.script.then(say("Another brief."), say("I begin, too."))
        unread = (await stage.run("handoff", "--yes", "--json", "-t", thread)).json()
        new = await stage.run("timeline", "-t", unread["newThreadId"])
        assert f"Begun from the thread {thread[-8:]}." in new.out
