"""Prompts of the chat on the real daemon and the real Codex: steered, queued, taken back."""

import base64
from contextlib import nullcontext

import anyio
import pytest
from trimpoint.testkit import hang, held, http_error, run, say
from trimpoint_protocol.client import ConnectionLost
from trimpoint_protocol.commands import AnyClientCommand
from trimpoint_protocol.methods import DispatchResult

from tests.chat.piloted import piloted
from tests.chat.terminal import in_git
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)  # fmt: skip
"""An image of one pixel."""


async def test_enter_tells_the_agent_in_its_turn_and_alt_enter_queues(stage: CliHarness) -> None:
    release = anyio.Event()
    stage.script.then(held(run("echo one"), release), say("I have both."), say("And then."))
    async with stage.daemon() as client, piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("Enter tells the agent, Alt+Enter queues")
        await stage.model.wait_for_request(lambda request: request.mentions("prompt-1."))
        await chat.types("prompt-2.")
        await chat.shows("not read yet prompt-2.")
        await chat.types("prompt-3.", "alt+enter")
        await chat.shows("next prompt-3.")
        queued = (await client.request("thread/queue/list", threadId=chat.state.thread_id))["data"]
        assert [one["input"][0]["text"] for one in queued] == ["prompt-3."]
        release.set()
        await chat.shows("And then.")
        await chat.shows(lambda screen: "not read yet" not in screen)
    second, third = stage.model.turn_requests()[-2:]
    assert second.mentions("prompt-2.")
    assert not second.mentions("prompt-3.")
    assert third.mentions("prompt-3.")


async def test_queued_prompts_are_seen_moved_edited_and_taken_out(stage: CliHarness) -> None:
    stage.script.then(hang("I begin"), say("After it."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("I begin")
        for number in (2, 3, 4):
            await chat.types(f"prompt-{number}.", "alt+enter")
            await chat.shows(f"next prompt-{number}.")
        await chat.presses("up")
        await chat.shows(lambda text: "next prompt-4." not in text)
        assert chat.composer.text == "prompt-4."
        await chat.presses("ctrl+c", "alt+up")
        await chat.shows("Shift+↑↓ moves")
        async with piloted(stage.socket, stage.worktree, chat.state.thread_id) as other:
            await other.shows("I begin")
            await chat.presses("down", "shift+up")
            await other.shows(lambda text: 0 < text.find("next prompt-3.") < text.find("prompt-2."))
        await chat.presses("down", "delete")
        await chat.shows(lambda text: "prompt-2." not in text)
        await chat.presses("escape", "escape")
        await chat.shows("The queue waits because the turn was interrupted")
        await chat.presses("alt+up", "ctrl+s")
        await chat.shows("After it.")
    last = stage.model.turn_requests()[-1]
    assert last.mentions("prompt-3.")
    assert not last.mentions("prompt-2.")


async def test_what_the_agent_has_not_read_when_the_turn_is_stopped_comes_back(
    stage: CliHarness,
) -> None:
    release = anyio.Event()
    stage.script.then(held(say("Never said."), release))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await stage.model.wait_for_request(lambda request: request.mentions("prompt-1."))
        await chat.shows("Enter tells the agent")  # before, it would be queued
        await chat.types("prompt-2.")
        await chat.shows("not read yet prompt-2.")
        await chat.presses("escape")
        await chat.shows("■ interrupted")
        await chat.shows(lambda text: "not read yet" not in text)
        assert chat.composer.text == "prompt-2."
        release.set()


async def test_a_running_answer_is_there_in_a_second_window_and_what_was_said_stays(
    stage: CliHarness,
) -> None:
    stage.script.then(say("Before."), hang("I begin"), say("After."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("Before.")
        await chat.types("prompt-2.")
        await chat.shows("I begin")
        async with piloted(stage.socket, stage.worktree, chat.state.thread_id) as other:
            await other.shows("I begin")
            await other.presses("escape")
            await other.shows("■ interrupted")
        await chat.shows("■ interrupted")
        assert "I begin" in chat.screen
        await chat.types("prompt-3.")
        await chat.shows("After.")
        assert "I begin" in chat.screen.partition("prompt-3.")[0]
        assert chat.screen.count("I begin") == 1
        async with piloted(stage.socket, stage.worktree, chat.state.thread_id) as reopened:
            await reopened.shows("After.")
            assert "I begin" in reopened.screen.partition("prompt-3.")[0]
        await chat.types("/clear 1")
        await chat.shows(lambda text: "I begin" not in text)


async def test_a_prompt_is_taken_once_though_the_connection_was_lost_before_the_answer(
    stage: CliHarness,
) -> None:
    stage.script.then(say("Before."), say("After."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("Before.")
        client = await chat.chat.reconnected()
        dispatch = client.dispatch

        async def lose(command: AnyClientCommand) -> DispatchResult:
            await dispatch(command)
            client.connection.lose()
            raise ConnectionLost

        client.dispatch = lose  # type: ignore[method-assign]
        await chat.types("prompt-2.")
        await chat.shows("After.")
        await chat.shows(lambda text: "not sent yet" not in text)
    assert [one.mentions("prompt-2.") for one in stage.model.turn_requests()] == [False, True]


async def test_a_clear_without_a_number_asks_how_many_turns_stay(stage: CliHarness) -> None:
    stage.script.then(say("One."), say("Two."), say("Three."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        for number, answer in ((1, "One."), (2, "Two.")):
            await chat.types(f"prompt-{number}.")
            await chat.shows(answer)
            await chat.shows("Ask, /")
        await chat.types("/clear")
        await chat.shows("the last turn    from: prompt-2.")
        await chat.presses("down", "enter")
        await chat.shows("Earlier messages")
        await chat.types("prompt-3.")
        await chat.shows("Three.")
    last = stage.model.turn_requests()[-1]
    assert (last.mentions("prompt-1."), last.mentions("prompt-2.")) == (False, True)


async def test_model_and_permissions_are_seen_and_changed(stage: CliHarness) -> None:
    stage.script.then(say("Ready."), say("Again."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("read only, asks for more")
        await chat.types("/permissions")
        await chat.shows("edits files in the folder")
        await chat.presses("down", "down", "down", "enter")
        await chat.shows("Enter once more takes it")
        await chat.presses("enter")
        await chat.shows("no sandbox, never asks")
        assert chat.state.settings is not None
        before = chat.state.settings.words[0]
        await chat.types("/model")
        await chat.shows("Model of this thread")
        await chat.shows(lambda text: "loading" not in text)
        await chat.presses("enter")
        await chat.shows("Effort of")
        await chat.presses("enter")
        await chat.shows(lambda text: "Ready." in text and f" {before} · " not in text)
        assert chat.state.settings is not None
        model, effort = chat.state.settings[:2]
        await chat.types("prompt-2.")
        await chat.shows("Again.")
    last = stage.model.turn_requests()[-1].body
    assert (last["model"], last["reasoning"]["effort"]) == (model, effort)


async def test_the_settings_of_a_thread_are_seen_before_anything_is_sent(stage: CliHarness) -> None:
    stage.script.then(say("Ready."))
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        await stage.turn(client, thread_id, "prompt-1.")
        async with piloted(stage.socket, stage.worktree, thread_id) as chat:
            await chat.shows("no sandbox, never asks")


async def test_a_turn_that_failed_says_why_and_is_tried_again(stage: CliHarness) -> None:
    stage.script.then(http_error(400, "The model is out of order."), say("It went well."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("prompt-1.")
        await chat.shows("Alt+R tries it again")
        await chat.shows("out of order")
        await chat.presses("alt+r")
        await chat.shows("It went well.")
        await chat.shows(lambda screen: "Alt+R" not in screen)


async def test_an_at_sign_finds_the_files_of_the_folder(stage: CliHarness) -> None:
    await in_git(stage)
    (stage.worktree / ".gitignore").write_text("built\n")
    for path in ("src/app.py", "built/app.py", "src/two words.py"):
        (stage.worktree / path).parent.mkdir(exist_ok=True)
        (stage.worktree / path).touch()
    stage.script.then(say("Seen."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        chat.composer.insert("Read @app")
        await chat.shows("❯ src/app.py")
        assert "built" not in chat.screen
        await chat.presses("enter")
        assert chat.composer.text == "Read @src/app.py "
        chat.composer.insert("and @two")
        await chat.shows("❯ src/two words.py")
        await chat.presses("tab", "enter")
        await chat.shows("Seen.")
    assert stage.model.turn_requests()[-1].mentions('Read @src/app.py and @"src/two')


async def test_a_large_paste_is_folded_and_sent_whole(stage: CliHarness) -> None:
    pasted = "\n".join(f"line {number} of it" for number in range(1, 10_001))
    stage.script.then(say("Read."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        chat.composer.insert("Look: ")
        await chat.pastes(pasted)
        chat.composer.insert(" and")
        await chat.pastes("short")
        assert chat.composer.text == "Look: [pasted 10,000 lines] andshort"
        await chat.presses("enter")
        await chat.shows("▸ … 9,980 more lines")
        await chat.shows("Read.")
        await chat.presses("up")
        await chat.shows("[pasted 10,000 lines]")
        assert chat.composer.text == "Look: [pasted 10,000 lines] andshort"
        await chat.presses("end", *["left"] * len(" andshort"), "backspace")
        assert chat.composer.text == "Look:  andshort"
    sent = stage.model.turn_requests()[-1]
    assert sent.mentions("line 1 of it")
    assert sent.mentions("line 10000 of it andshort")


async def test_an_image_whose_path_is_pasted_is_sent(stage: CliHarness) -> None:
    image = stage.worktree / "a shot.png"
    image.write_bytes(DOT)
    stage.script.then(say("A dot."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.pastes(str(image).replace(" ", "\\ "))
        await chat.types(" what is it?")
        await chat.shows("A dot.")
    body = str(stage.model.turn_requests()[-1].body)
    assert "data:image/png" in body
    assert "what is it?" in body


async def test_esc_twice_edits_an_earlier_prompt_and_sends_it_again(stage: CliHarness) -> None:
    stage.script.then(say("Blue."), say("Cold."), say("Green."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        for prompt, answer in (("What colour is it?", "Blue."), ("Is it cold?", "Cold.")):
            await chat.types(prompt)
            await chat.shows(answer)
            await chat.shows("Ask, /")
        await chat.presses("escape", "escape")
        await chat.shows("Edit and send again")
        await chat.shows("What colour is it?")
        await chat.presses("down", "enter")
        await chat.shows("Back to before the first turn")
        await chat.presses("enter")
        await chat.shows("│ What colour is it?")
        await chat.shows(lambda screen: "Cold." not in screen)
        await chat.types(" In winter.")
        await chat.shows("Green.")
    last = stage.model.turn_requests()[-1]
    assert last.mentions("What colour is it? In winter.")
    assert not last.mentions("Blue.")


async def test_a_prompt_of_another_thread_is_found(stage: CliHarness) -> None:
    stage.script.then(say("Long."), say("Short."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.types("How long is the Danube,\nin kilometres?")
        await chat.shows("Long.")
        await chat.shows("Ask, /")
        await chat.presses("ctrl+n")
        await chat.types("Hello.")
        await chat.shows("Short.")
        await chat.presses("ctrl+r")
        await chat.shows("Earlier prompts")
        await chat.shows("❯ Hello.")
        await chat.presses(*"danu")
        await chat.shows("❯ How long is the Danube, in kilometres?")
        await chat.presses("enter")
        await chat.shows("│ in kilometres?")
        assert chat.composer.text == "How long is the Danube,\nin kilometres?"


async def test_an_exclamation_mark_runs_a_command_in_the_shell(stage: CliHarness) -> None:
    stage.script.then(say("I have seen it."))
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        chat.composer.insert("!echo $((40+2)) of them")
        await chat.shows("your shell, no sandbox")
        await chat.presses("enter")
        await chat.shows("42 of them")
        await chat.shows("Ask, /")
        await chat.types("Have you seen it?")
        await chat.shows("I have seen it.")
    assert stage.model.turn_requests()[-1].mentions("42 of them")


async def test_the_editor_of_the_person_changes_the_prompt(
    stage: CliHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = stage.worktree / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s, edited\\n" "$(cat "$2")" >"$2"\nexit $(cat "$1")\n')
    editor.chmod(0o700)
    code = stage.worktree / "code"
    code.write_text("0")
    monkeypatch.setenv("VISUAL", f"{editor} {code}")
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        monkeypatch.setattr(chat.app, "suspend", nullcontext)
        chat.composer.insert("typed")
        await chat.presses("ctrl+g")
        assert chat.composer.text == "typed, edited"
        code.write_text("1")
        await chat.presses("ctrl+g")
        await chat.shows("did not end well")
        assert chat.composer.text == "typed, edited"
