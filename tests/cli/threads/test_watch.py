"""`trimpoint watch`: follows a thread, for a person and for a script."""

import json
import signal

import pytest
from trimpoint.testkit import run, say

from tests.cli.stage import CliHarness, Terminal

pytestmark = pytest.mark.codex


async def test_turns_and_trims_appear_as_they_happen_until_ctrl_c(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "prompt-1.")
        async with stage.running("watch") as watch:
            await watch.said(f"thread {thread[-8:]}", "err")
            stage.script.then(run("echo printed"), say("answer-2."))
            await stage.turn(client, thread, "prompt-2.")
            await watch.said("● answer-2.")
            await client.request("commands/execute", threadId=thread, text="/compact --keep 1")
            await watch.said("The gist of it all.")
            await watch.said("⟳ Context compacted")
            await client.request("commands/execute", threadId=thread, text="/new")
            await watch.said("it continues as")
            watch.process.send_signal(signal.SIGINT)
            assert await watch.ended() == 0
    lines = watch.out.splitlines()
    order = ["❯ prompt-2.", "  $ echo printed", "    │ printed", "● answer-2."]
    assert [line for line in lines if line in order] == order
    assert any("▸ Earlier messages · 2 pruned" in line for line in lines)
    assert "\x1b" not in watch.out


async def test_watch_prints_json_lines_when_stdout_is_no_terminal(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        async with stage.running("watch", "--json", "--thread", thread) as watch:
            await watch.said("orchestration/synchronized")
            await stage.turn(client, thread, "prompt-1.")
            await watch.said('"turn/completed"')
            watch.process.send_signal(signal.SIGINT)
            assert await watch.ended() == 0
    methods = [json.loads(line)["method"] for line in watch.out.splitlines()]
    assert {
        "orchestration/event",
        "turn/started",
        "item/agentMessage/delta",
        "turn/completed",
    } <= set(methods)
    assert watch.err == ""


async def test_the_end_of_the_daemon_is_code_4(stage: CliHarness) -> None:
    async with stage.serving() as serve:
        assert (await stage.run("probe", "--prompt", "one")).code == 0
        async with stage.running("watch") as watch:
            await watch.said("thread ", "err")
            serve.process.send_signal(signal.SIGTERM)
            assert await watch.ended() == 4
    assert "closed the connection" in watch.err


async def test_a_person_sees_the_last_turn_first_and_the_next_daemon_too(
    stage: CliHarness, terminal: Terminal
) -> None:
    environment = stage.environment | {"TERM": "xterm-256color"}
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        await stage.turn(client, thread, "said before")
    options = {"stdout": terminal.fd, "stderr": terminal.fd, "env": environment}
    async with stage.running("watch", "--thread", thread, **options) as watch:
        await terminal.shows("said before")
        await stage.end_background_daemons()
        await terminal.shows("Waiting for the next one")
        async with stage.daemon() as client:
            await terminal.shows("A daemon runs again.")
            await client.request("thread/resume", threadId=thread, excludeTurns=True)
            await stage.turn(client, thread, "said in the next life")
            await terminal.shows("said in the next life")
            watch.process.send_signal(signal.SIGINT)
            assert await watch.ended() == 0
    assert (await terminal.rest()).endswith("\n\r\n")
