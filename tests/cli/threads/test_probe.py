"""`trimpoint probe`: calls of any method, and prompts whose requests are put to the person."""

import json
import signal

import anyio
import pytest
from trimpoint.testkit import call, hang, say

from tests.cli.stage import CliHarness, Terminal
from tests.deadlines import SCENARIO_S

pytestmark = pytest.mark.codex


async def test_any_method_can_be_sent_and_its_result_read(stage: CliHarness) -> None:
    async with stage.daemon():
        own = await stage.run("probe", "sidecar/status", "--json")
        assert own.json()["result"]["stateDir"] == str(stage.state_dir)
        codexs = await stage.run("probe", "thread/list", '{"limit": 1}')
        assert (codexs.code, json.loads(codexs.out)["data"]) == (0, [])
        piped = await stage.run("probe", "thread/list", "-", stdin=b'{"limit": 1}')
        assert piped.out == codexs.out


async def test_refusals_are_a_sentence_or_an_error_document(stage: CliHarness) -> None:
    async with stage.daemon():
        typo = await stage.run("probe", "thread/lst")
        assert (typo.code, "Did you mean thread/list" in typo.err, typo.out) == (1, True, "")
        assert len(typo.err) < 400
        wrong = await stage.run("probe", "timeline/read", '{"threadId": 3}', "--json")
        assert (wrong.code, wrong.json()["error"]["data"]["reason"]) == (2, "invalid_params")
        assert wrong.err == ""


async def test_until_follows_notifications_and_stops_at_the_one_wanted(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        params = json.dumps({"threadId": thread, "input": [{"type": "text", "text": "hello"}]})
        done = await stage.run("probe", "turn/start", params, "--until", "turn/completed", "--json")
        lines = [json.loads(line) for line in done.out.splitlines()]
        assert "turn" in lines[0]["result"]
        assert (done.code, lines[-1]["method"]) == (0, "turn/completed")
        assert [line["method"] for line in lines[1:]].count("turn/completed") == 1
        for_people = await stage.run("probe", "turn/start", params, "--until", "turn/completed")
        assert "← turn/completed" in for_people.out


async def test_a_notification_that_does_not_arrive_in_time_is_a_failure(stage: CliHarness) -> None:
    async with stage.daemon():
        done = await stage.run(
            "probe", "thread/list", "--until", "turn/completed", "--follow", "0.1"
        )
        assert (done.code, "turn/completed did not arrive within 0.1 seconds" in done.err) == (
            1,
            True,
        )
        assert (await stage.run("probe", "thread/list", "--follow", "0.1")).code == 0


async def test_a_prompt_starts_a_thread_streams_the_answer_and_can_be_continued(
    stage: CliHarness,
) -> None:
    stage.script.then(say("first answer\nin two lines"), say("second answer"))
    async with stage.daemon():
        first = await stage.run("probe", "--prompt", "one")
        assert (first.code, first.out) == (0, "❯ one\n● first answer\n  in two lines\n")
        thread = first.err.split()[1]
        second = await stage.run("probe", "--prompt", "two", "--thread", thread, "--json")
        lines = [json.loads(line) for line in second.out.splitlines()]
        assert (lines[-1]["threadId"], lines[-1]["turn"]["status"]) == (thread, "completed")
        assert any(line.get("method") == "item/agentMessage/delta" for line in lines)
    assert stage.model.turn_requests()[-1].mentions("first answer")


async def test_a_prompt_that_fails_says_why_with_code_1(stage: CliHarness) -> None:
    from trimpoint.testkit import http_error

    stage.script.then(http_error(400, "the model is out"))
    async with stage.daemon():
        done = await stage.run("probe", "--prompt", "one")
        assert (done.code, "The turn failed: " in done.out, "the model is out" in done.out) == (
            1,
            True,
            True,
        )
        nowhere = await stage.run("probe", "--prompt", "one", "--cwd", "/nowhere/at/all")
        assert (nowhere.code, "there is no such folder" in nowhere.err) == (2, True)


async def test_ctrl_c_interrupts_the_turn_as_well(stage: CliHarness) -> None:
    stage.script.then(hang("I begin"))
    async with stage.daemon() as client, stage.running("probe", "--prompt", "one") as probe:
        await probe.said("I begin")
        thread = probe.err.split()[1]
        probe.process.send_signal(signal.SIGINT)
        assert await probe.ended() == -signal.SIGINT
        read = await client.request("thread/read", threadId=thread, includeTurns=True)
        assert [turn["status"] for turn in read["thread"]["turns"]] == ["interrupted"]


ESCALATE = {
    "cmd": "touch made-it",
    "sandbox_permissions": "require_escalated",
    "justification": "May I make a file?",
}


@pytest.mark.parametrize(
    ("key", "then", "code"), [("y", "Thank you.", 0), ("n", "The turn was interrupted.", 1)]
)
async def test_approvals_are_asked_at_the_terminal(
    stage: CliHarness, terminal: Terminal, key: str, then: str, code: int
) -> None:
    stage.script.then(call("exec_command", ESCALATE), say("Thank you."))
    async with stage.daemon():
        options = {"stdin": terminal.fd, "stdout": terminal.fd, "stderr": terminal.fd}
        async with stage.running("probe", "--prompt", "one", **options) as probe:
            await terminal.shows("> ")
            assert "The agent asks to run" in terminal.screen
            assert "touch made-it" in terminal.screen
            assert "May I make a file?" in terminal.screen
            terminal.press(f"what?\n{key}\n")
            await terminal.shows(then)
            assert await probe.ended() == code
    assert (stage.worktree / "made-it").exists() is (code == 0)


async def test_without_a_terminal_approvals_are_declined_and_said(stage: CliHarness) -> None:
    stage.script.then(call("exec_command", ESCALATE))
    async with stage.daemon():
        done = await stage.run("probe", "--prompt", "one")
    # Codex offers no way to decline this and go on (measured: 0.163).
    assert (done.code, "The turn was interrupted." in done.out) == (1, True)
    assert "Declined, as there is no terminal to ask at: the agent asks to run" in done.err
    assert not (stage.worktree / "made-it").exists()


async def test_a_question_that_another_client_answers_is_withdrawn(
    stage: CliHarness, terminal: Terminal
) -> None:
    stage.script.then(call("exec_command", ESCALATE), say("Thank you."))
    async with stage.daemon() as client:
        options = {"stdin": terminal.fd, "stdout": terminal.fd, "stderr": terminal.fd}
        async with stage.running("probe", "--prompt", "one", **options) as probe:
            await terminal.shows("> ")
            threads = await client.request("orchestration/snapshot")
            await client.request("thread/resume", threadId=threads["threads"][0]["id"])
            question = await client.received("item/commandExecution/requestApproval")
            client.answer(question, {"decision": "accept"})
            await terminal.shows("Thank you.")
            assert await probe.ended() == 0
    assert (stage.worktree / "made-it").exists()


async def test_a_daemon_that_ends_during_a_command_is_reported(stage: CliHarness) -> None:
    stage.script.then(hang("I begin"))
    with anyio.fail_after(SCENARIO_S):
        async with stage.serving() as serve, stage.running("probe", "--prompt", "one") as probe:
            await probe.said("I begin")
            serve.process.send_signal(signal.SIGTERM)
            assert await probe.ended() in {1, 4}
    assert "Traceback" not in probe.err
