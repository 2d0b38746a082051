"""`threads`, `rename`, `archive`, `unarchive`, `delete`, `fork`, `interrupt`."""

import io
from typing import Any

import anyio
import msgspec
import pytest
from rich.console import Console
from trimpoint.cli.connection.known_threads import KnownThread, known
from trimpoint.cli.views.threads_view import busy_words, by_place, thread_groups
from trimpoint.testkit import held, say
from trimpoint_protocol.methods import ThreadOverview

from tests.cli.stage import CliHarness, Terminal

OVERVIEW = ThreadOverview(
    id="01a22180-0000-7000-8000-00004c1b486d", name=None, cwd="/nowhere/a", archived=False, created_at="2026-01-01T00:00:00Z",
    updated_at="2026-01-01T00:00:00Z", generation=1, loaded=False, busy=None, preview="Let greet take a name, " * 9, turns=18,
    trims=2, compactions=1,
)  # fmt: skip


def row(**changes: Any) -> KnownThread:
    return known(msgspec.structs.replace(OVERVIEW, **changes))


def lines(threads: list[KnownThread], width: int) -> list[str]:
    file = io.StringIO()
    grouped = by_place(threads, "/nowhere/b")
    Console(file=file, width=width, force_terminal=False).print(
        thread_groups(grouped, width, headings=len(grouped) > 1)
    )
    return [line.rstrip() for line in file.getvalue().splitlines()]


@pytest.mark.parametrize("width", [60, 80, 110])
def test_the_list_fits_the_terminal_and_keeps_the_end_of_each_id(width: int) -> None:
    shown = lines(
        [row(), row(busy="turn: running"), row(cwd="/nowhere/b", archived=True, name="done")], width
    )
    assert all(len(line) <= width for line in shown)
    assert shown[0] == "/nowhere/b"
    assert sum("4c1b486d" in line for line in shown) == 3
    assert [("18" in line, "✂2 ⤵1" in line) for line in shown if "4c1b486d" in line] == [
        (width > 76, width > 76)
    ] * 3
    assert any("working" in line for line in shown)
    assert any("archived" in line for line in shown)


@pytest.mark.parametrize(
    ("busy", "asks", "words"),
    [
        ("turn: running", False, "working"),
        ("turn: running", True, "waits for an answer"),
        ("turn: starting", False, "starting"),
        ("operation: clear", False, "clear"),
        ("request: item/tool/requestUserInput", True, "waits for an answer"),
        ("request: item/tool/call", False, "working"),
        ("request: subAgent", False, "sub-agent at work"),
        ("request", False, "working"),
        ("", False, ""),
    ],
)
def test_the_reason_why_a_thread_is_busy_is_shown_in_words(
    busy: str, asks: bool, words: str
) -> None:
    assert busy_words(busy, asks=asks) == words


@pytest.mark.codex
async def test_the_threads_of_this_folder_are_listed_codexs_own_too(stage: CliHarness) -> None:
    other = stage.folder / "other"
    other.mkdir()
    stage.script.then(say("answer-1."))
    assert (await stage.codex("exec", "--skip-git-repo-check", "Explain the widget.")).code == 0
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            await stage.turn(client, thread, f"prompt-{number}.")
        foreign = await stage.thread(client, cwd=other)
        await stage.turn(client, foreign, "prompt-foreign.")
        await client.request("commands/execute", threadId=thread, text="/clear 2")
        await client.request("commands/execute", threadId=thread, text="/compact --keep 1")
        shown = await stage.run("threads")
        document = (await stage.run("threads", "--json")).json()
        everything = await stage.run("threads", "--all")
        assert (await stage.run("archive", "--json")).json()["threadId"] == thread
        archived = (await stage.run("threads", "--archived", "--json")).json()["threads"]
    mine, codexs = document["threads"]
    assert (mine["id"], mine["turns"], mine["trims"], mine["compactions"]) == (thread, 3, 1, 1)
    assert (codexs["firstWords"], codexs["inTrimpoint"]) == ("Explain the widget.", False)
    assert all(
        words in shown.out
        for words in (thread[-8:], "prompt-1.", "✂1 ⤵1", "Codex's own", "1 thread elsewhere: --all")
    )
    assert "prompt-foreign." not in shown.out
    assert all(
        words in everything.out for words in (str(other), "prompt-foreign.", str(stage.worktree))
    )
    assert [one["id"] for one in archived] == [thread]


@pytest.mark.codex
async def test_the_list_of_threads_is_the_same_after_a_restart(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        [before] = (await stage.run("threads", "--json")).json()["threads"]
    async with stage.daemon():
        [after] = (await stage.run("threads", "--json")).json()["threads"]
    assert before["context"]["usedTokens"] > 0
    wanted = ("id", "turns", "firstWords", "trims")
    assert [after[name] for name in wanted] == [before[name] for name in wanted]
    assert [after["context"][name] for name in ("usedTokens", "percent")] == [
        before["context"][name] for name in ("usedTokens", "percent")
    ]


@pytest.mark.codex
async def test_a_thread_is_renamed_archived_and_brought_back(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        assert (
            await stage.run("rename", "Parser  rewrite")
        ).out == f"✓ {thread[-8:]} is now “Parser rewrite”.\n"
        archived = await stage.run("archive", "parser")
        assert (archived.code, f"trimpoint threads unarchive {thread[-8:]}" in archived.out) == (
            0,
            True,
        )
        assert (await stage.run("archive", thread)).code == 3
        for asked in (("ask", "-t", thread, "Go on."), ("ask", "-t", thread, "/clear 0")):
            refused = await stage.run(*asked)
            assert refused.code == 1
            assert f"trimpoint threads unarchive {thread[-8:]}" in refused.out + refused.err
            assert "codex unarchive" not in refused.out + refused.err
        assert (await stage.run("timeline")).code == 1
        assert (await stage.run("unarchive")).code == 0
        assert (await stage.run("unarchive")).code == 1
        assert (await stage.run("unarchive", thread)).code == 3
        both = await stage.run("archive", "a", "--thread", "b")
        assert (both.code, "Name one thread" in both.err) == (2, True)
        [row] = (await stage.run("threads", "--json")).json()["threads"]
    assert (row["name"], row["archived"]) == ("Parser rewrite", False)


@pytest.mark.codex
async def test_a_fork_knows_what_the_thread_knew_up_to_a_turn(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            await stage.turn(client, thread, f"prompt-{number}.")
        forked = (await stage.run("fork", "--at", "2", "--json")).json()
        await stage.turn(client, forked["newThreadId"], "prompt-4.")
        seen = stage.model.turn_requests()[-1]
        assert [seen.mentions(f"prompt-{number}.") for number in (1, 2, 3, 4)] == [
            True,
            True,
            False,
            True,
        ]
        beyond = await stage.run("fork", "-t", thread, "--at", "9")
        assert (beyond.code, "the thread has 3 turns" in beyond.err) == (2, True)
        await client.request("commands/execute", threadId=thread, text="/clear 1")
        pruned = await stage.run("fork", thread, "--at", "1")
        assert (pruned.code, "Turn 3 is the first that it knows" in pruned.err) == (2, True)


@pytest.mark.codex
async def test_a_thread_is_deleted_only_when_that_was_said_twice(
    stage: CliHarness, terminal: Terminal
) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        unnamed = await stage.run("delete", "--yes")
        assert (unnamed.code, "trimpoint threads delete needs a THREAD" in unnamed.err) == (2, True)
        unasked = await stage.run("delete", thread[-8:])
        assert (unasked.code, "--yes" in unasked.err) == (2, True)
        options = {"stdin": terminal.fd, "stdout": terminal.fd, "stderr": terminal.fd}
        async with stage.running("delete", thread[-8:], **options) as asked:
            await terminal.shows("[y/N]")
            terminal.press("\n")
            assert await asked.ended() == 3
        assert (await stage.run("delete", thread[-8:], "-y")).code == 0
        listed = (await stage.run("probe", "thread/list", "--json")).json()["result"]["data"]
    assert [one["id"] for one in listed] == []


@pytest.mark.codex
async def test_a_turn_that_runs_can_be_interrupted_from_outside(stage: CliHarness) -> None:
    release = anyio.Event()
    async with stage.daemon() as client, anyio.create_task_group() as tasks:
        thread = await stage.thread(client)
        idle = await stage.run("interrupt")
        assert (idle.code, idle.out) == (3, "– No turn is running.\n")
        stage.script.then(held(say("done"), release))
        tasks.start_soon(stage.turn, client, thread, "prompt-1.")
        await stage.model.wait_for_request()
        done = await stage.run("interrupt")
        assert (done.code, done.out) == (0, "✓ The turn was interrupted.\n")
        release.set()


@pytest.mark.codex
async def test_a_compaction_can_be_stopped_from_outside(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        stage.script.at_compaction(held(say("The summary."), anyio.Event()))
        async with stage.running("compact", "--force") as compacting:
            await stage.model.wait_for_request(lambda one: one.kind != "turn")
            done = await stage.run("interrupt")
            assert (done.code, done.out) == (0, "✓ The compaction was cancelled.\n")
            await compacting.ended()
        assert "The compaction was cancelled" in compacting.out
        await stage.turn(client, thread, "prompt-2.")
        assert stage.model.turn_requests()[-1].mentions("prompt-1.")
