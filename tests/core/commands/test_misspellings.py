"""Misspelt slash commands: which are refused with the right name, and which go to the agent."""

import pytest
from trimpoint.core.commands.parsing import NotACommand, UsageError, parse


@pytest.mark.parametrize(
    ("text", "command", "right"),
    [
        ("/claer 3", "clear", "/clear 3"),
        (":clera", "clear", "/clear"),
        ("/Revrt 4", "revert", "/revert 4"),
        ("/commpact mind the API", "compact", "/compact mind the API"),
        ("/compres 50k", "compress", "/compress 50k"),
        ("/clear3", "clear", "/clear 3"),
        (":revert-4", "revert", "/revert 4"),
        ("/Undo.", "undo", "/undo"),
        ("/compact!", "compact", "/compact"),
    ],
)
def test_a_slip_of_the_fingers_is_told_the_right_name_and_not_sent(
    text: str, command: str, right: str
) -> None:
    outcome = parse(text)
    assert isinstance(outcome, UsageError)
    assert outcome.command == command
    assert f"Did you mean {right}?" in outcome.message
    assert "Nothing was sent to the agent." in outcome.message


@pytest.mark.parametrize(
    "text",
    [
        "/clean 3",
        "/compare a",
        "/claer the desk",
        "/review",
        "/news today",
        "/model",
        "/init",
        ":hepl",
        "//",
        "/undo3",
        "/init2",
        "/clear.txt",
        "/clear/3",
    ],
)
def test_a_name_that_may_be_anothers_goes_to_the_agent(text: str) -> None:
    assert parse(text) == NotACommand()


@pytest.mark.parametrize(
    ("text", "way"),
    [
        ("/nonsense", "/help lists the commands."),
        ("/hepl", "Did you mean /help?"),
        (" /Clears ", "Did you mean /clear?"),
        ("/nwe", "Did you mean /new?"),
        ("/tiemline", "Did you mean /timeline?"),
    ],
)
def test_a_single_word_that_no_program_knows_is_refused_with_the_nearest_name(
    text: str, way: str
) -> None:
    outcome = parse(text)
    assert isinstance(outcome, UsageError)
    assert f"There is no {text.strip().lower()}. {way} Nothing was sent" in outcome.message


@pytest.mark.parametrize(
    "text",
    [
        "/usr/bin/x is broken", "/tmp is full", "/etc/hosts", "/a", "/clear.py", "/nonsense why?",
        "/clear-all", "/n\u00f6nsense", "/" + "a" * 31, "/v2",
    ],
)  # fmt: skip
def test_a_path_or_a_sentence_stays_a_prompt(text: str) -> None:
    assert parse(text) == NotACommand()


def test_a_slash_alone_is_not_sent() -> None:
    outcome = parse(" / ")
    assert isinstance(outcome, UsageError)
    assert "/help lists the commands. Nothing was sent" in outcome.message
