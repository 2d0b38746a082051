"""The main states of the screen as text, compared with the files in tests/chat/screens.
`TRIMPOINT_UPDATE_SCREENS=1` writes them again, to be reviewed before a commit.
"""

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from textual import events
from trimpoint.cli.views.timeline_view import TurnMark
from trimpoint.tui.model.prompt import Outgoing
from trimpoint.tui.model.questions import COMMAND, card_of
from trimpoint.tui.model.state import ChatState, LinkState, Question, Tone
from trimpoint.tui.session.changes import Changes
from trimpoint.tui.session.chat import Chat
from trimpoint.tui.session.drafts import Drafts
from trimpoint.tui.session.link import Link
from trimpoint.tui.widgets.app import ChatApp
from trimpoint.tui.widgets.composer import Composer
from trimpoint.tui.widgets.row_drawing import Place, RowDrawing
from trimpoint_protocol.methods import TrimAdvice

from tests.chat.entries import (
    banner,
    command,
    context,
    did,
    divider,
    page,
    queued,
    said,
    thread,
)
from tests.deadlines import STEP_S

SCREENS = Path(__file__).parent / "screens"
_SPINNER = re.compile("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]")
# On a busy machine a second has passed before the screen is read.
_SECONDS = re.compile(r"(working|writing) \d+ s")
ANSWER = """\
It has **two** parts:

1. `core` holds rules
2. `journal` keeps records

```python
def trim(turns, keep):
    return turns[-keep:]
```

A `List<T>` and [bold]brackets[/bold] stay as they are."""


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.delenv("NO_COLOR", raising=False)
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def _no_daemon() -> Path | None:
    return None


async def _none_to_start() -> Path:
    raise FileNotFoundError("there is no daemon here")


def _chat(drafts: Drafts | None = None) -> Chat:
    state = ChatState("/work/shop", "thread-0123456789")
    state.link = LinkState.CONNECTED
    state.threads = [thread("thread-0123456789", preview="What is in this project?")]
    state.context = context(level="ok", percent=12.4, used_tokens=14_900)
    state.transcript.replace(
        page(
            banner("\n".join(f"Line {number} of the summary." for number in range(1, 10))),
            divider(hidden=12),
            said("u", "What is in this project?", role="user"),
            did("commandExecution", {"command": "ls", "aggregatedOutput": "core\njournal\n"}, "ls"),
            said("x", ANSWER),
        )
    )
    state.marks = {"t1": TurnMark(7, "", "completed", None)}
    return Chat(Link(_no_daemon, _none_to_start, None), state, Changes(), drafts)


async def _screen(
    chat: Chat, *keys: str, size: tuple[int, int] = (80, 30), focus: str = "composer"
) -> str:
    app = ChatApp(chat)
    async with app.run_test(size=size) as pilot:
        with anyio.fail_after(STEP_S):
            while app.focused is None or app.focused.id != focus:
                await pilot.pause()
        for key in keys:
            await pilot.press(key)
            await pilot.pause()
        text = _shown(app)
        return _SECONDS.sub(r"\1", _SPINNER.sub("*", text)) + "\n"


def _shown(app: ChatApp) -> str:
    strips = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
    return "\n".join(strip.text.rstrip() for strip in strips)


def _is_golden(name: str, text: str) -> None:
    path = SCREENS / f"{name}.txt"
    if os.environ.get("TRIMPOINT_UPDATE_SCREENS"):
        SCREENS.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


async def test_a_conversation_with_its_trim_point() -> None:
    _is_golden("conversation", await _screen(_chat()))


async def test_a_conversation_in_forty_columns() -> None:
    _is_golden("narrow", await _screen(_chat(), size=(40, 30)))


async def test_a_thread_that_has_not_begun_says_what_to_try() -> None:
    chat = _chat()
    chat.open_new("/work/shop")
    _is_golden("welcome", await _screen(chat, size=(40, 20)))


async def test_rows_of_the_conversation_are_chosen_and_opened() -> None:
    keys = ("tab", "up", "enter", "up", "up", "up", "enter")
    _is_golden("opened", await _screen(_chat(), *keys, size=(80, 40)))


async def test_a_full_context_with_what_would_help() -> None:
    chat = _chat()
    chat.state.context = context(level="critical", percent=93.1, used_tokens=111_700)
    chat.state.advice = TrimAdvice(
        command="/clear 3", frees_tokens=90_000, after_tokens=21_000, percent=18.0,
        text="/clear 3 frees about 90k tokens.",
    )  # fmt: skip
    _is_golden("critical", await _screen(chat, "alt+g"))


async def test_a_question_of_the_agent() -> None:
    chat = _chat()
    params = {"command": "rm -rf build", "reason": "The build is stale.", "cwd": "/work/shop"}
    card = card_of(COMMAND, params, {})
    assert card is not None
    chat.state.ask(Question(1, COMMAND, card))
    _is_golden("question", await _screen(chat, "tab", "down"))


async def test_a_key_that_came_too_soon_is_spoken_of_while_the_card_has_the_keys() -> None:
    chat = _chat()
    card = card_of(COMMAND, {"command": "ls"}, {})
    assert card is not None
    chat.state.ask(Question(1, COMMAND, card))
    app = ChatApp(chat, lambda: 100.0)
    async with app.run_test(size=(80, 30)) as pilot:
        for key, is_said in (("tab", False), ("y", True), ("tab", False), ("tab", False)):
            await pilot.press(key)
            await pilot.pause()
            assert ("too soon" in _shown(app)) is is_said, key


async def test_a_prompt_that_waits_for_the_turn_and_what_was_said() -> None:
    chat = _chat()
    chat.state.turn_id = "t1"
    chat.state.queue = [queued("and then this")]
    chat.state.notify(Tone.DONE, "Context cleared.\nTo undo: /undo")
    _is_golden("working", await _screen(chat))


async def test_a_daemon_that_is_gone() -> None:
    chat = _chat()
    chat.state.link = LinkState.LOST
    _is_golden("lost", await _screen(chat))


async def test_a_list_of_threads_that_is_not_there_yet_says_so_and_comes() -> None:
    chat = _chat()
    [found], chat.state.threads = chat.state.threads, []
    app = ChatApp(chat)
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press("ctrl+t")
        with anyio.fail_after(STEP_S):
            while "reading the threads" not in _shown(app):
                await pilot.pause(0.02)
            chat.state.threads, chat.state.has_read_threads = [found], True
            while "What is in this project?" not in _shown(app):
                await pilot.pause(0.02)


async def test_the_keys() -> None:
    _is_golden("help", await _screen(_chat(), "question_mark", size=(100, 34)))
    _is_golden("help-narrow", await _screen(_chat(), "question_mark", size=(40, 20)))


async def test_a_long_notice_and_the_menu_leave_room_for_the_prompt() -> None:
    chat = _chat()
    chat.state.notify(Tone.DONE, "\n".join(f"line {number}" for number in range(30)))
    app = ChatApp(chat, lambda: 0.0)
    async with app.run_test(size=(40, 20)) as pilot:
        with anyio.fail_after(STEP_S):
            while app.focused is None:
                await pilot.pause()
            await pilot.press("/")
            while not app.query_one("#menu").display:
                await pilot.pause()
            while app.query_one("#status").region.bottom != 20:
                await pilot.pause(0.02)
        composer, status = app.query_one("#composer"), app.query_one("#status")
        assert (composer.region.bottom, status.region.bottom) == (19, 20)
        assert "more lines; Ctrl+O" in _shown(app)


async def test_without_colour_nothing_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    coloured = await _screen(_chat())
    monkeypatch.setenv("NO_COLOR", "1")
    assert await _screen(_chat()) == coloured


async def test_a_thread_of_many_turns_is_laid_out_only_where_it_is_in_sight() -> None:
    chat = _chat()
    entries = [said(str(number), f"answer {number}") for number in range(20_000)]
    chat.state.transcript.replace(page(*entries))
    app = ChatApp(chat)
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.pause()
        for _ in range(20):
            await pilot.press("pageup")
        kept = app.query_one("#transcript")._drawing._kept  # type: ignore[attr-defined]
        assert 0 < len(kept) < 1_000


async def test_a_draft_that_ctrl_c_takes_away_is_brought_back_by_the_arrow() -> None:
    app = ChatApp(_chat())
    async with app.run_test(size=(80, 30)) as pilot:
        for text in ("one", "two", "three"):
            await pilot.press(*text, "ctrl+c")
        composer = app.query_one("#composer", Composer)
        assert composer.text == ""
        await pilot.press("up", "up")
        assert composer.text == "two"
        await pilot.press("ctrl+c", "up")
        assert composer.text == "two"


async def test_a_draft_stays_with_its_thread_and_through_a_new_start(tmp_path: Path) -> None:
    chat = _chat(Drafts(tmp_path / "drafts"))
    app = ChatApp(chat)
    async with app.run_test(size=(80, 30)) as pilot:
        await pilot.press(*"half")
        chat.state.outgoing = [Outgoing("1", "thread-0123456789", "on its way")]
        chat.open_new("/work/shop")
        app.show_state()
        composer = app.query_one("#composer", Composer)
        assert composer.text == ""
        await pilot.press(*"new")
        chat.state.open("thread-0123456789", "/work/shop")
        app.show_state()
        assert composer.text == "half"
    [*files] = (tmp_path / "drafts").iterdir()
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}
    again = ChatApp(_chat(Drafts(tmp_path / "drafts")))
    async with again.run_test(size=(80, 30)):
        assert again.query_one("#composer", Composer).text == "on its way\n\nhalf"


async def test_a_text_that_was_refused_comes_back_before_what_was_typed_meanwhile() -> None:
    chat = _chat()
    app = ChatApp(chat)

    async def refuse(text: str, *, is_later: bool = False) -> bool:
        return False

    chat.submit = refuse  # type: ignore[method-assign]
    async with app.run_test(size=(80, 30)) as pilot:
        composer = app.query_one("#composer", Composer)
        composer.text = "lost"
        composer.action_send()
        composer.text = "more"
        with anyio.fail_after(STEP_S):
            while composer.text != "lost\n\nmore":
                await pilot.pause()


async def test_what_is_typed_without_a_connection_waits_in_sight() -> None:
    chat = _chat()
    chat.state.link = LinkState.LOST
    app = ChatApp(chat)
    async with app.run_test(size=(80, 30)) as pilot:
        for text in ("make it blue", "/clear 1"):
            app.submit(text)
            with anyio.fail_after(STEP_S):
                while f"not sent yet {text}" not in _shown(app):
                    await pilot.pause()
        assert chat.state.unsent("half") == "make it blue\n\n/clear 1\n\nhalf"


async def test_a_command_is_what_was_typed_however_fast() -> None:
    chat, sent = _chat(), list[str]()
    app = ChatApp(chat)
    async with app.run_test(size=(80, 30)) as pilot:
        composer = app.query_one("#composer", Composer)
        composer.popup.show("/", [command("clear", "/clear [N]"), command("undo")])
        app.submit = lambda text, *, is_later: sent.append(text)  # type: ignore
        composer.text = "/undo"
        composer.action_send()
        await pilot.pause()
    assert sent == ["/undo"]


async def test_joiners_that_are_typed_are_kept() -> None:
    app = ChatApp(_chat())
    async with app.run_test(size=(80, 30)) as pilot:
        composer = app.query_one("#composer", Composer)
        for character in "می‌خ":
            composer.post_message(events.Key(character, character))
        with anyio.fail_after(STEP_S):
            while composer.text != "می‌خ":
                await pilot.pause()


def test_code_in_a_line_has_no_ground_of_its_own_on_a_light_terminal() -> None:
    drawing = RowDrawing()
    place = Place(
        said("m1", "The `core` decides."),
        None,
        None,
        None,
        is_open=False,
        is_last=True,
        is_live=False,
    )
    strips = drawing.lines(place, 60)
    code = [one for strip in strips for one in strip if "core" in one.text]
    assert code
    assert all(one.style is not None and one.style.bgcolor is None for one in code)
