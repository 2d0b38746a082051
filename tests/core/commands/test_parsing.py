"""Slash commands: which text is a command, usage errors, and their messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.core.commands.arguments import MAX_TURNS
from trimpoint.core.commands.clear import Clear
from trimpoint.core.commands.compact import Compact
from trimpoint.core.commands.compress import Compress
from trimpoint.core.commands.declaration import Command
from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.new import New
from trimpoint.core.commands.parsing import (
    MAX_ARGUMENT_CHARS,
    NotACommand,
    UsageError,
    complete,
    parse,
)
from trimpoint.core.commands.pins import Pin
from trimpoint.core.commands.registry import REGISTRY, help_text
from trimpoint.core.commands.revert import Revert
from trimpoint.core.commands.undo import Undo

WHITE_SPACE = " \t\r\n\f\v\u00a0\u2003\u3000"


def clear(keep: int | None) -> Clear:
    return Clear(keep)


def compact(keep: int = 0, guidance: str | None = None, *, force: bool = False) -> Compact:
    return Compact(keep=keep, force=force, guidance=guidance)


@pytest.mark.parametrize(
    ("text", "keep"),
    [
        ("/clear", None),
        ("/CLEAR", None),
        ("/Clear 2", 2),
        (" /clear 3 ", 3),
        ("\n/clear\n", None),
        ("/clear\n3", 3),
        ("/clear\t3\t", 3),
        ("/clear\u00a03", 3),
        ("/clear 0", 0),
        ("/clear 007", 7),
        ("/clear 1000000", MAX_TURNS),
        (":clear", None),
        (" :Clear 3", 3),
    ],
)
def test_clear_takes_a_number_of_turns_or_nothing(text: str, keep: int | None) -> None:
    assert parse(text) == clear(keep)


@pytest.mark.parametrize(
    "rest",
    [
        "abc", "-1", "+1", "1.0", "1.5", "1e3", "0x10", "1_000", "1,000", "3 fix it", "3 3", "3\nfix it",
        "three", "[3]", "\u00b2", "\uff13", "\u0663", "\u0be9", "½", "NaN", "'3'",
        "1000001", "9999999", "10000000", "9" * 5_000, "\u200b3", "3\u200b", "/clear", "?",
    ],
)  # fmt: skip
def test_clear_with_anything_else_says_what_is_right(rest: str) -> None:
    outcome = parse(f"/clear {rest}")
    assert isinstance(outcome, UsageError)
    shown = rest if len(rest) <= 40 else rest[:39] + "…"
    assert outcome.command == "clear"
    assert outcome.message == (
        f"/clear takes the number of turns to keep, 0 to 1,000,000, or turns such as 4..12, not “{shown}”. "
        "Usage: /clear [N] [--force] [--dry-run]. Nothing was sent to the agent."
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/clear --force", Clear(force=True)),
        ("/clear 3 --Dry-Run", Clear(3, dry_run=True)),
        ("/clear --dry-run --force 7", Clear(7, force=True, dry_run=True)),
        ("/new --dry-run", New(dry_run=True)),
        (
            "/compact --dry-run --keep 2 the names",
            Compact(keep=2, guidance="the names", dry_run=True),
        ),
    ],
)
def test_switches_may_stand_before_or_after_the_number(text: str, expected: Command) -> None:
    assert parse(text) == expected


@given(st.text().filter(lambda rest: rest.strip() != ""), st.sampled_from(WHITE_SPACE))
def test_clear_with_any_argument_is_never_a_prompt(rest: str, space: str) -> None:
    outcome = parse(f"/clear{space}{rest}")
    assert isinstance(outcome, UsageError | Command)
    if isinstance(outcome, Command):
        assert rest.strip().isascii()
        assert outcome == clear(int(rest.strip()))


@given(st.sampled_from(sorted(REGISTRY)), st.text(WHITE_SPACE), st.text(WHITE_SPACE), st.data())
def test_case_and_white_space_around_do_not_matter(
    name: str, before: str, after: str, data: st.DataObject
) -> None:
    cased = "".join(data.draw(st.sampled_from([char, char.upper()])) for char in name)
    assert parse(f"{before}/{cased}{after}") == parse(f"/{name}")
    assert isinstance(parse(f"/{name}"), Command)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "//", "//clear", "/ clear", "clear", "clear 3", "please /clear",
        "/clear\u00e9", "/3", "/-", "/_clear", "/clear/3",
        "\\clear",
        "/\u0441lear", "/newfile.txt is new", "/usr/bin/env", "fix /clear",
        "\uff0fclear", "/help-me", ":", "::clear", "/:clear", ":/clear", ": clear", ":wq", ":clearance", "fix :clear",
    ],
)  # fmt: skip
def test_a_text_without_a_known_command_is_not_a_command(text: str) -> None:
    assert parse(text) == NotACommand()


@given(st.text())
def test_any_text_is_read_without_failing(text: str) -> None:
    for outcome in (parse(text), parse("/" + text)):
        assert isinstance(outcome, NotACommand | UsageError | Command)
    complete(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/compact", compact()),
        ("/Compact   Keep the names ", compact(guidance="Keep the names")),
        ("/compact keep\nevery  line", compact(guidance="keep\nevery  line")),
        ("/compact --keep 3", compact(3)),
        ("/compact --keep=3", compact(3)),
        ("/compact --keep= 3", compact(3)),
        ("/compact --KEEP 3 --Force", compact(3, force=True)),
        ("/compact --keep 3 the names", compact(3, "the names")),
        ("/compact --keep\t3\nthe names", compact(3, "the names")),
        ("/compact\n--force\nthe names", compact(0, "the names", force=True)),
        ("/compact --force --keep 2 x", compact(2, "x", force=True)),
        ("/compact --keep 1 --keep 2", compact(2)),
        ("/compact the --keep option", compact(guidance="the --keep option")),
        ("/compact 3", compact(guidance="3")),
        ("/compact - dashes are guidance", compact(guidance="- dashes are guidance")),
    ],
)
def test_compact_takes_options_then_guidance(text: str, expected: Command) -> None:
    assert parse(text) == expected


KEEP = "--keep takes the number of turns to keep, 0 to 1,000,000, not "


@pytest.mark.parametrize(
    ("rest", "complaint"),
    [
        ("--keep", KEEP + "nothing."),
        ("--keep=", KEEP + "nothing."),
        ("--keep abc", KEEP + "“abc”."),
        ("--keep=-1 x", KEEP + "“-1”."),
        ("--keep --force", KEEP + "“--force”."),
        ("--keep \uff13", KEEP + "“\uff13”."),
        ("--keep 1000001", KEEP + "“1000001”."),
        ("--kepp 3", "/compact has no option “--kepp”."),
        ("--force=yes", "/compact has no option “--force=yes”."),
        ("--force= x", "/compact has no option “--force=”."),
        ("--", "/compact has no option “--”."),
    ],
)
def test_compact_with_a_wrong_option_says_what_is_right(rest: str, complaint: str) -> None:
    usage = "Usage: /compact [turns] [--keep N] [--model M] [--force] [--edit] [--dry-run] [guidance…]. Nothing was sent to the agent."
    assert parse(f"/compact {rest}") == UsageError("compact", f"{complaint} {usage}")


@pytest.mark.parametrize(
    ("text", "target", "dry_run"),
    [
        ("/compress", None, False),
        ("/compress 50000", 50_000, False),
        ("/COMPRESS 50,000", 50_000, False),
        ("/compress 50k", 50_000, False),
        ("/compress 1000000K", 1_000_000_000, False),
        ("/compress --dry-run", None, True),
        ("/compress 40k --Dry-Run", 40_000, True),
        ("/compress\n--dry-run\t40k", 40_000, True),
    ],
)
def test_compress_takes_a_target_and_may_only_look(
    text: str, target: int | None, dry_run: bool
) -> None:
    assert parse(text) == Compress(target, dry_run)


@pytest.mark.parametrize(
    "rest",
    [
        "lots",
        "0",
        "-1",
        "1.5k",
        "50 k",
        "50k 40k",
        "1000001k",
        "9999999999",
        "\uff15",
        "k",
        "50k please",
    ],
)
def test_compress_with_anything_else_says_what_is_right(rest: str) -> None:
    complaint = (
        f"/compress takes one number of tokens to get down to, such as 50000 or 50k, not “{rest}”."
    )
    usage = (
        "Usage: /compress [target tokens] [--dry-run] [--discard]. Nothing was sent to the agent."
    )
    assert parse(f"/compress {rest}") == UsageError("compress", f"{complaint} {usage}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("/compress --dry-runs 40k", "/compress has no option “--dry-runs”."),
        ("/clear --keep 3", "/clear has no option “--keep”."),
        ("/revert --all", "/revert has no option “--all”."),
    ],
)
def test_an_option_that_there_is_not_is_named(text: str, complaint: str) -> None:
    outcome = parse(text)
    assert isinstance(outcome, UsageError)
    assert outcome.message.startswith(complaint)


def test_new_stands_alone() -> None:
    assert parse("/new") == New()
    assert parse("/new --pins --dry-run") == New(pins=True, dry_run=True)
    message = "/new takes nothing but --pins and --dry-run, not “branch”. Usage: /new [--pins] [--dry-run]. Nothing was sent to the agent."
    assert parse("/new branch") == UsageError("new", message)


@pytest.mark.parametrize("text", ["/help clear", "/help /clear", "/HELP CLEAR", "/help  /Clear "])
def test_help_of_a_command_is_found_by_its_name(text: str) -> None:
    assert parse(text) == Help("clear")


@pytest.mark.parametrize("rest", ["nonsense", "clear new", "//clear"])
def test_help_of_no_command_says_which_there_are(rest: str) -> None:
    outcome = parse(f"/help {rest}")
    assert isinstance(outcome, UsageError)
    known = ", ".join(f"/{name}" for name in REGISTRY)
    assert outcome.message.startswith(
        f"There is no command “{rest}”; there are {known}. Usage: /help"
    )


def test_help_lists_every_command_or_one_in_full() -> None:
    assert parse("/help") == parse("/help /") == Help()
    lines = help_text(None).splitlines()
    said = zip(REGISTRY.values(), lines[::2], lines[1::2], strict=True)
    for command, usage, summary in said:
        assert (usage, summary.strip()) == (command.usage(), command.summary)
        assert help_text(command.command) == f"{command.usage()}\n{command.explanation()}"


@pytest.mark.parametrize(
    ("typed", "names"),
    [
        ("/", list(REGISTRY)),
        ("/c", ["context", "compact", "compress", "clear"]),
        ("  /C", ["context", "compact", "compress", "clear"]),
        ("/clear", ["clear"]),
        (":", list(REGISTRY)),
        (" :cl", ["clear"]),
        ("::", []),
        ("/clear ", []),
        ("/clearx", []),
        ("//", []),
        ("", []),
        ("clear", []),
    ],
)
def test_completion_offers_what_can_still_come(typed: str, names: list[str]) -> None:
    assert [command.command for command in complete(typed)] == names


def test_each_command_is_found_by_the_name_it_shows() -> None:
    for name, command in REGISTRY.items():
        assert name == command.command == name.lower()
        assert command.usage().split()[0] == f"/{name}"


def test_each_command_becomes_the_one_that_the_registry_names() -> None:
    for name in REGISTRY:
        outcome = parse(f"/{name}")
        assert isinstance(outcome, Command)
        assert outcome.command == name


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/revert", Revert()),
        ("/Revert 0", Revert(0)),
        ("/revert 12 --context", Revert(12, context=True)),
        ("/revert --FORCE 3", Revert(3, force=True)),
        ("/revert 3 --dry-run", Revert(3, dry_run=True)),
        ("/revert --undo --context", Revert(undo=True, context=True)),
        (
            "/revert 01a22083-72a1-7823-bc85-7f3e7361c173",
            Revert("01a22083-72a1-7823-bc85-7f3e7361c173"),
        ),
        ("/revert h3.2", Revert("h3.2")),
        ("/pin h3.2 9f4d0b20:h1.1 the rules", Pin(("h3.2", "9f4d0b20:h1.1"), note="the rules")),
        ("/revert 9f4d0b20:h3.2 --context", Revert("9f4d0b20:h3.2", context=True)),
        ("/revert 3f9c0d1e2a", Revert("3f9c0d1e2a")),
    ],
)
def test_revert_takes_a_turn_by_number_or_id_and_options(text: str, expected: Command) -> None:
    assert parse(text) == expected


@pytest.mark.parametrize(
    "rest", ["-1", "abc", "1 2", "1 --undo", "--undo 0", "--all", "1.5", "3 fix it", "01a220"]
)
def test_revert_with_anything_else_says_what_is_right(rest: str) -> None:
    outcome = parse(f"/revert {rest}")
    assert isinstance(outcome, UsageError)
    assert "/revert" in outcome.message


def test_undo_takes_its_switches_and_nothing_else() -> None:
    assert parse("/undo") == Undo()
    wanted = Undo(redo=True, force=True, dry_run=True)
    assert parse(":UNDO --redo --Force --dry-run") == wanted
    outcome = parse("/undo 3")
    assert isinstance(outcome, UsageError)
    assert "/undo takes nothing but" in outcome.message


@pytest.mark.parametrize("name", ["compact", "pin", "clear", "search", "compct"])
def test_an_argument_longer_than_the_limit_is_refused(name: str) -> None:
    refused = parse(f"/{name} {'word ' * (MAX_ARGUMENT_CHARS // 5 + 1)}")
    if name == "compct":
        assert refused == NotACommand()
    else:
        assert isinstance(refused, UsageError)
        assert "at most 100,000 characters, not 100,004" in refused.message


def test_a_word_of_megabytes_is_no_command() -> None:
    assert parse("/" + "a" * 5_000_000) == NotACommand()
    assert complete("/" + "a" * 5_000_000) == []


@pytest.mark.parametrize(
    ("text", "is_unnamed"),
    [
        ("/clear", True),
        ("/clear --force", True),
        ("/clear 0", False),
        ("/clear --dry-run", False),
        ("/revert --context", True),
        ("/revert --undo", False),
        ("/compact", False),
    ],
)
def test_a_command_that_does_not_say_which_turns_it_means_is_known(
    text: str, is_unnamed: bool
) -> None:
    command = parse(text)
    assert isinstance(command, Command)
    assert command.is_unnamed is is_unnamed
