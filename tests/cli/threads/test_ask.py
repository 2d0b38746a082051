"""`trimpoint ask`, and Ctrl-C in `compact`."""

import json
import signal

import pytest
from trimpoint.testkit import Usage, hang, run, say, throwaway_codex_home

from tests.cli.stage import CliHarness, Terminal

pytestmark = pytest.mark.codex


async def test_a_prompt_continues_the_last_thread_of_this_folder_unless_a_new_one_is_asked_for(
    stage: CliHarness,
) -> None:
    stage.script.then(say("answer-1."), say("answer-2."), say("answer-3."))
    async with stage.daemon():
        first = await stage.run("ask", "prompt-1.")
        assert (first.code, first.out) == (0, "answer-1.\n"), first.err
        assert "read-only: it cannot change files" in first.err
        assert "tokens" in first.err
        assert (await stage.run("ask", "prompt", "two.")).code == 0
        assert stage.model.turn_requests()[-1].mentions("answer-1.")
        assert stage.model.turn_requests()[-1].mentions("prompt two.")
        assert (await stage.run("ask", "--new", "-", stdin=b"prompt-3.")).out == "answer-3.\n"
        assert not stage.model.turn_requests()[-1].mentions("answer-1.")
        [one, other] = (await stage.run("threads", "--json")).json()["threads"]
    assert {one["turns"], other["turns"]} == {1, 2}


async def test_an_answer_is_printed_once_where_both_outputs_go_to_one_place(
    stage: CliHarness,
) -> None:
    stage.script.then(say("answer-1."), say("answer-2."))
    environment = stage.with_program_on_path()
    async with stage.daemon():
        both = await stage.shell("trimpoint ask prompt-1. 2>&1", environment)
        assert (both.code, both.out.count("answer-1.")) == (0, 1), both.out
        apart = await stage.shell("trimpoint ask prompt-2.", environment)
    assert (apart.out, apart.err.count("answer-2.")) == ("answer-2.\n", 1)


async def test_what_nobody_was_there_to_allow_is_shown_as_declined(stage: CliHarness) -> None:
    (stage.worktree / "a.txt").write_text("one\n")
    change = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch"
    patch = f"apply_patch <<'EOF'\n{change}\nEOF"
    stage.script.then(run(patch), say("Then not."), run("touch made.txt"))
    async with stage.daemon():
        edit = await stage.run("ask", "-a", "untrusted", "Change it.")
        command = await stage.run("ask", "Make it.")
    assert (edit.code, edit.out) == (0, "Then not.\n")
    assert f"  ✎ {stage.worktree}/a.txt · declined" in edit.err.splitlines(), edit.err
    assert command.code == 1
    assert "    declined" in command.err.splitlines(), command.err


@pytest.mark.each_case(reason="each is refused for another reason")
@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["/nonsense"], 2, "There is no /nonsense"),
        (["/claer 3"], 2, "/clear"),
        (["/clear abc"], 2, "Usage"),
        (["/clear 1"], 2, "your first prompt begins one"),
        (["--new", "/compact"], 2, "your first prompt begins one"),
        (["--json", "/undo"], 2, "your first prompt begins one"),
        (["/help"], 0, "/compact"),
    ],
)
async def test_a_command_in_an_empty_folder_begins_no_thread(
    stage: CliHarness, words: list[str], code: int, says: str
) -> None:
    async with stage.daemon():
        done = await stage.run("ask", *words)
        threads = (await stage.run("threads", "--json")).json()["threads"]
    assert (done.code, threads) == (code, []), done.err
    assert says in done.out


async def test_settings_hold_from_the_turn_on_in_which_they_were_given(stage: CliHarness) -> None:
    picture = stage.worktree / "one.png"
    picture.write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
                                      "0000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"))  # fmt: skip
    async with stage.daemon():
        words = [
            "ask",
            "--json",
            "-s",
            "workspace-write",
            "-a",
            "never",
            "-m",
            "gpt-5.1",
            "-i",
            "one.png",
            "prompt-1.",
        ]
        done = await stage.run(*words)
        lines = [json.loads(line) for line in done.out.splitlines()]
        assert (done.code, lines[-1]["turn"]["status"]) == (0, "completed"), done.err
        assert stage.model.turn_requests()[-1].mentions("data:image/png")
        assert '"gpt-5.1"' in json.dumps(stage.model.turn_requests()[-1].body)
        resumed = await stage.run("ask", "prompt-2.")
        assert "gpt-5.1, workspace-write, approvals never" in resumed.err
        again = await stage.run(
            "ask", "-t", lines[-1]["threadId"], "-s", "danger-full-access", "prompt-2."
        )
        assert "no sandbox" in again.err
        resumed = await stage.run("ask", "prompt-3.")
        assert "no sandbox" in resumed.err


@pytest.mark.each_case(reason="each pair is another rule")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ask"], "There is no prompt."),
        (["ask", "--new", "-t", "x", "y"], "Give only one of them."),
        (["ask", "-i", "nowhere.png", "y"], "there is no such file"),
        (["ask", "-C", "nowhere", "y"], "there is no such folder"),
    ],
)
async def test_ask_refuses_options_that_exclude_each_other(
    stage: CliHarness, words: list[str], said: str
) -> None:
    async with stage.daemon():
        done = await stage.run(*words)
    assert (done.code, said in done.err) == (2, True)


async def test_a_context_that_fills_up_is_reported_with_what_to_do(
    stage: CliHarness, terminal: Terminal
) -> None:
    stage.script.then(say("answer-1.", usage=Usage(input_tokens=200_000)))
    async with stage.daemon():
        options = {"stdin": terminal.fd, "stdout": terminal.fd, "stderr": terminal.fd}
        async with stage.running("ask", "prompt-1.", **options) as asked:
            await terminal.shows("trimpoint compact summarizes it")
            assert await asked.ended() == 0
    assert "answer-1." in terminal.screen
    assert "❯" not in terminal.screen
    assert "77%" in terminal.screen


async def test_ctrl_c_interrupts_the_turn_and_says_so_on_a_line_of_its_own(
    stage: CliHarness, terminal: Terminal
) -> None:
    stage.script.then(hang("I begin"))
    async with stage.daemon():
        options = {"stdin": terminal.fd, "stdout": terminal.fd, "stderr": terminal.fd}
        async with stage.running("ask", "prompt-1.", **options) as asked:
            await terminal.shows("I begin")
            asked.process.send_signal(signal.SIGINT)
            assert await asked.ended() == -signal.SIGINT
            await terminal.shows("The turn was interrupted.")
    cut, _, below = terminal.screen.partition("I begin")[2].partition("\r\n")
    assert ("…" in cut, "The turn was interrupted." in below) == (True, True)


async def test_without_a_login_a_prompt_fails_at_once_and_names_the_command(
    stage: CliHarness,
) -> None:
    stage.overrides[:] = ['model="gpt-5"']
    async with stage.daemon():
        done = await stage.run("ask", "prompt-1.")
        probed = await stage.run("probe", "--prompt", "prompt-1.", "--json")
    assert (done.code, done.err) == (
        1,
        "trimpoint: Codex is not logged in.\nRun `trimpoint login`, then try again.\n",
    )
    assert probed.json()["error"]["reason"] == "not_logged_in"


async def test_ctrl_c_cancels_a_compaction_and_says_so(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            await stage.turn(client, thread, f"prompt-{number}.")
        stage.script.at_compaction(hang("a summary that"))
        async with stage.running("compact", "--force") as compact:
            await stage.model.wait_for_request(lambda request: request.kind != "turn")
            compact.process.send_signal(signal.SIGINT)
            assert await compact.ended() == -signal.SIGINT
            await compact.said("Cancelled. The agent's context is as it was.", "err")
        assert (await stage.run("timeline", "--json")).json()["entries"][0]["text"] == "prompt-1."
        assert (await stage.run("clear", "1", "--json")).json()["status"] == "completed"


async def test_each_trim_says_what_it_brought_and_how_to_take_it_back(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread = await stage.thread(client)
        for number in (1, 2, 3):
            stage.script.then(say("answer", usage=Usage(input_tokens=number * 10_000)))
            await stage.turn(client, thread, f"prompt-{number}.")
        cleared = await stage.run("clear", "1")
        assert "30,010 tokens before" in " ".join(cleared.out.split())
        assert "To undo: trimpoint undo" in cleared.out
        assert (await stage.run("revert", "3", "--context")).code == 0
        await stage.turn(client, thread, "prompt-4.")
        assert stage.model.turn_requests()[-1].mentions("prompt-1.")
        new = await stage.run("new")
        assert f"To undo: trimpoint threads unarchive {thread[-8:]}" in new.out


async def test_a_question_from_another_codex_home_is_answered_from_there(
    stage: CliHarness,
) -> None:
    async with throwaway_codex_home() as home, stage.serving():
        (home / "AGENTS.md").write_text("The other home.")
        stage.script.then(say("answer-1."), say("answer-2."))
        there = await stage.run("ask", "prompt-1.", CODEX_HOME=str(home))
        here = await stage.run("ask", "--new", "prompt-2.")
    assert (there.code, here.code) == (0, 0), there.err + here.err
    requests = stage.model.turn_requests()
    assert [request.mentions("The other home.") for request in requests] == [True, False]
