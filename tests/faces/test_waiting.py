"""A thread that waits for a person is seen from another one, in each face, while it waits."""

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import Reply, held, run, say

from tests.chat.piloted import piloted
from tests.cli.stage import CliHarness, opened_stage
from tests.faces.stage import Face


async def test_threads_that_ask_are_counted_and_do_not_take_the_keys(
    face_with_one_thread: Face,
) -> None:
    face = face_with_one_thread
    await face.others_ask()
    quiet = await face.screen()
    await face.types("hal")
    await face.others_ask("the shop", "the garden")
    await face.types("f done")
    shown = await face.screen()
    assert await face.prompt() == "half done"
    assert "2" in _line_about_others(shown)
    await face.others_ask()
    assert _line_about_others(quiet) == _line_about_others(await face.screen()) == ""


def _line_about_others(screen: str) -> str:
    lines = screen.splitlines()
    return next((line for line in lines if "elsewhere" in line or "threads ask" in line), "")


@pytest.mark.codex
async def test_a_thread_that_asks_in_its_turn_is_distinguished_from_one_that_works() -> None:
    async with (
        opened_stage() as stage,
        stage.daemon() as client,
        piloted(stage.socket, stage.worktree) as chat,
    ):
        works = await _turn(client, stage, held(say("done"), anyio.Event()))
        await stage.model.wait_for_request()
        asks = await _turn(client, stage, run("touch asked-for.txt"))
        await chat.shows("another thread asks you something")
        rows = (await stage.run("threads", "--json")).json()["threads"]
        assert {one["id"]: bool(one["asks"]) for one in rows} == {works: False, asks: True}
        listed = (await stage.run("threads")).out
        assert (listed.count("waits for an"), listed.count("working")) == (1, 1)
        await chat.presses("ctrl+t")
        await chat.shows("? Go on.")
        assert chat.screen.count("waits for an answer") == 1


async def _turn(client: Client, stage: CliHarness, *replies: Reply) -> str:
    """Starts a thread whose agent asks before each command, and a turn in it."""
    stage.script.then(*replies)
    cwd, never_sandboxed = str(stage.worktree), "danger-full-access"
    started = await client.request(
        "thread/start", cwd=cwd, approvalPolicy="untrusted", sandbox=never_sandboxed
    )
    thread_id = str(started["thread"]["id"])
    words = [{"type": "text", "text": "Go on."}]
    await client.request("turn/start", threadId=thread_id, input=words)
    return thread_id
