"""Clearing, compacting and masking at a turn, by keys and by mouse; and what else can be clicked."""

import pytest
from rich.console import Console
from rich.text import Text
from trimpoint.testkit import say
from trimpoint.tui.model.clicks import key_clicked, keyed
from trimpoint.tui.model.state import Notice, Tone
from trimpoint.tui.model.stretches import acts_at

from tests.chat.piloted import Piloted, piloted
from tests.cli.stage import CliHarness


def test_what_can_be_done_at_a_turn_names_each_stretch_once() -> None:
    assert [act.command for act in acts_at(2, 4)] == [
        *("/clear 2..2", "/clear ..2", "/clear 2..4"),
        *("/compact 2..2", "/compact ..2", "/compact 2..4"),
        *("/mask 2..2", "/mask ..2", "/mask 2..4"),
    ]
    assert [act.words for act in acts_at(1, 2)][:2] == [
        "Clear turn 1",
        "Clear turns 1 to 2, from here on",
    ]
    assert [act.command for act in acts_at(1, 1)] == ["/clear 1..1", "/compact 1..1", "/mask 1..1"]


@pytest.mark.parametrize(
    ("line", "words", "key"),
    [
        ("Enter takes · Esc closes", "takes", "enter"),
        ("Enter takes · Esc closes", "closes", "escape"),
        ("Enter opens · ^N new · Tab other agents · Esc", "new", "ctrl+n"),
        ("Enter opens · ^N new · Tab other agents · Esc", "Esc", "escape"),
        ("✗ The turn failed. Alt+R tries it again.", "tries", "alt+r"),
        ("✗ The turn failed. Alt+R tries it again.", "failed", None),
        ("next a prompt · Alt+↑ changes", "changes", "alt+up"),
        ("What the Tabs and Escape do", "do", None),
        ("? what can be done", "what", "question_mark"),
    ],
)
def test_the_words_about_a_key_can_be_clicked(line: str, words: str, key: str | None) -> None:
    console, at = Console(), line.index(words)
    assert key_clicked(keyed(line, "dim").get_style_at_offset(console, at)) == key
    assert key_clicked(Text(line, "dim").get_style_at_offset(console, at)) is None


async def three_turns(stage: CliHarness, chat: Piloted) -> None:
    for number in (1, 2, 3):
        stage.script.then(say(f"answer-{number}."))
        await chat.types(f"prompt-{number}.")
        await chat.shows(f"answer-{number}.")
        # While the turn runs, a prompt would be added to it.
        await chat.shows(lambda _: chat.state.busy is None and not chat.state.outgoing)


async def mentioned_next(stage: CliHarness, chat: Piloted) -> list[bool]:
    """Returns which of the three prompts the model is sent next."""
    stage.script.then(say("after it."))
    await chat.types("prompt-4.")
    await chat.shows("after it.")
    last = stage.model.turn_requests()[-1]
    return [last.mentions(f"prompt-{number}.") for number in (1, 2, 3)]


@pytest.mark.codex
async def test_a_turn_is_cleared_by_keys_after_a_preview(stage: CliHarness) -> None:
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await three_turns(stage, chat)
        await chat.presses("alt+t")
        await chat.shows("3  prompt-3.")
        await chat.presses("down", "enter")
        await chat.shows("Clear turns 1 to 2, up to here")
        await chat.presses("escape")
        await chat.shows("3  prompt-3.")
        await chat.presses("down", "enter")
        await chat.shows("Make room at turn 2")
        await chat.presses("enter")
        await chat.shows("Enter does it")
        await chat.presses("escape")
        await chat.shows("Mask turn 2")
        await chat.presses("enter")
        await chat.shows("Enter does it")
        await chat.presses("enter")
        await chat.shows("Discarded · 2")
        assert await mentioned_next(stage, chat) == [True, False, True]


@pytest.mark.codex
async def test_a_turn_is_chosen_in_the_conversation_and_cleared_by_mouse(
    stage: CliHarness,
) -> None:
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await three_turns(stage, chat)
        await chat.clicks("prompt-2.")
        await chat.clicks("prompt-2.")
        await chat.shows("Make room at turn 2")
        await chat.clicks("Clear turns 1 to 2, up to here")
        await chat.clicks("Clear turns 1 to 2, up to here")
        await chat.shows("Enter does it")
        await chat.clicks("does it")
        await chat.shows("Discarded · 4")
        assert await mentioned_next(stage, chat) == [False, False, True]
        await chat.clicks("answer-3.", button=3)
        await chat.shows("Make room at turn 3")
        await chat.clicks("closes")
        await chat.clicks("gpt-5")
        await chat.shows("Enter takes")
        await chat.clicks("closes")
        await chat.clicks("[Context")
        await chat.shows("Space marks")


async def mentioned_next_after_leaving(stage: CliHarness, chat: Piloted) -> list[bool]:
    await chat.presses("escape", "escape", "escape")
    await chat.shows(lambda text: "Make room" not in text)
    return await mentioned_next(stage, chat)


@pytest.mark.codex
async def test_keys_that_others_name_are_not_pressed_by_a_click(stage: CliHarness) -> None:
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await chat.shows("[new thread")
        chat.state.notice = Notice(Tone.NEUTRAL, "Ctrl+T is what to press")
        await chat.clicks("is what to press")
        await chat.clicks("[new thread")
        await chat.shows("Enter opens")


@pytest.mark.codex
async def test_a_held_enter_goes_no_further_than_the_preview(stage: CliHarness) -> None:
    async with stage.daemon(), piloted(stage.socket, stage.worktree) as chat:
        await three_turns(stage, chat)
        await chat.presses("alt+t")
        await chat.shows("prompt-2.")
        for _ in range(40):
            await chat.presses("enter")
        await chat.shows("Enter does it")
        assert await mentioned_next_after_leaving(stage, chat) == [True, True, True]
