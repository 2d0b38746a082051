"""The menu of commands, and the screen's own commands."""

from pathlib import Path

import pytest
from trimpoint.tui.model.own_commands import OwnCommand, OwnName, complete_own, own_command
from trimpoint.tui.model.popup import Popup
from trimpoint.tui.model.state import ChatState
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.link import Link
from trimpoint.tui.widgets.app import ChatApp
from trimpoint.tui.widgets.bindings import NAMES, keymap

from tests.chat.entries import command


def test_a_command_that_takes_something_away_is_never_the_first_of_the_menu() -> None:
    popup = Popup()
    popup.show("/", [command("clear"), command("context"), command("undo"), command("search")])
    assert [one.name for one in popup.commands] == ["context", "search", "clear", "undo"]
    popup.show("/clear", [command("clear"), command("clearer")])
    assert popup.completed("/clear") == "/clear"


def test_a_row_of_the_menu_is_taken_only_for_the_text_that_it_was_made_for() -> None:
    popup = Popup()
    popup.show("/", [command("clear", "/clear [N]")])
    assert popup.completed("/undo") is None
    assert popup.completed("/") == "/clear "


def test_the_menu_keeps_its_choice_closes_and_completes() -> None:
    popup = Popup()
    popup.move(1)
    assert (popup.is_open, popup.choice, popup.completed(popup._text), popup.is_whole()) == (
        False, None, None, False,
    )  # fmt: skip
    popup.show("/c", [command("clear", "/clear [N]"), command("context")])
    popup.move(1)
    popup.show("/co", [command("compact", "/compact [x]"), command("context")])
    assert (popup.choice or command("x")).name == "context"
    assert popup.completed(popup._text) == "/context"
    popup.move(1)
    assert popup.completed(popup._text) == "/compact "
    popup.show(":compact", [command("compact", "/compact [x]")])
    assert (popup.completed(popup._text), popup.is_whole()) == (":compact ", True)
    popup.close()
    assert not popup.is_open
    popup.show("/c", [command("clear")])
    assert popup.is_open
    popup.hide()
    assert not popup.is_open


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/threads", OwnCommand(OwnName.THREADS, "")),
        (":quit", OwnCommand(OwnName.QUIT, "")),
        ("/rename  A name", OwnCommand(OwnName.RENAME, "A name")),
        ("/rename", None),
        ("/revert", OwnCommand(OwnName.TURNS, "")),
        ("/revert 3", None),
        ("threads", None),
        ("/clear", OwnCommand(OwnName.KEEP, "")),
        ("/clear 3", None),
        (":Clear  --force", OwnCommand(OwnName.KEEP, "--force")),
        ("/clear --dry-run", None),
        ("/clear --force 2", None),
        ("/revert --context --force", OwnCommand(OwnName.TURNS, "--context --force")),
        ("/revert --undo", None),
        ("/search", OwnCommand(OwnName.SEARCH, "")),
        ("/compact", None),
    ],
)
def test_commands_of_the_screen_are_distinguished_from_others(
    text: str, expected: OwnCommand | None
) -> None:
    assert own_command(text) == expected


def test_commands_of_the_screen_are_in_the_menu() -> None:
    assert [one.usage for one in complete_own("/r")] == ["/rename NAME"]
    assert len(complete_own("/")) == 11
    assert complete_own("r") == []


async def test_keys_can_be_mapped_to_others_and_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no 'thread'; there are escape, stop"):
        keymap({"thread": "ctrl+y"})

    async def none() -> Path:
        raise FileNotFoundError("there is no daemon")

    chat = Chat(Link(none, none, None), ChatState("/work/shop", None), Changes())
    app = ChatApp(chat, is_loud=False)
    app.set_keymap(keymap({"threads": "ctrl+y"}))
    async with app.run_test() as pilot:
        await pilot.press("ctrl+t")
        assert len(app.screen_stack) == 1
        await pilot.press("ctrl+y")
        assert len(app.screen_stack) == 2


def test_the_documents_name_every_key_that_can_be_mapped() -> None:
    said = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    row = next(line for line in said.splitlines() if line.startswith("| `keys` |"))
    assert row.endswith(f"{', '.join(f'`{name}`' for name in NAMES)} |")
