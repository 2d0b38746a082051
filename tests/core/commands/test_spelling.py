"""Commands are written as they are typed where a person reads them."""

import pytest
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.spelling import Spelling, hint_text, spelled, undo_text
from trimpoint.core.model.state import Operation
from trimpoint.core.views.outcome_text import done_text, operation_said, outcome_text
from trimpoint_protocol.hints import CommandHint
from trimpoint_protocol.methods import CommandDraft, CommandOutcome, TokenChange

THREAD = "01a22083-72a1-7823-bc85-7f3e7361c173"
TOKENS = TokenChange(
    before=3_000, after=1_000, before_estimated=False, after_estimated=True, note=None,
    window_tokens=10_000, before_percent=30.0, after_percent=10.0,
)  # fmt: skip


@pytest.mark.parametrize(
    ("command", "spelling", "typed"),
    [
        ("/clear 3", Spelling.SLASH, "/clear 3"),
        ("/clear 3", Spelling.COLON, ":clear 3"),
        ("/clear 3", Spelling.SHELL, "trimpoint clear 3"),
        (f"thread/unarchive {THREAD}", Spelling.SHELL, "trimpoint threads unarchive 7361c173"),
        (
            f"thread/unarchive {THREAD}",
            Spelling.COLON,
            "trimpoint threads unarchive 7361c173 (in a terminal)",
        ),
    ],
)
def test_a_command_is_spelled_for_the_place_where_it_is_typed(
    command: str, spelling: Spelling, typed: str
) -> None:
    assert spelled(command, spelling) == typed
    assert undo_text(command, spelling) == f"To undo: {typed}"


def test_hints_are_one_sentence() -> None:
    hints = [CommandHint("/clear N", "keeps the last N turns"), CommandHint("/compact", "is slow")]
    assert hint_text([], Spelling.SLASH) == ""
    shown = hint_text(hints, Spelling.SHELL)
    assert shown == "trimpoint clear N keeps the last N turns; trimpoint compact is slow."


def test_an_outcome_is_worded_from_its_parts() -> None:
    done = CommandOutcome(
        handled=True, command="clear", status="completed", said="Cleared.", tokens=TOKENS,
        undo="/undo",
    )  # fmt: skip
    size = "Context: 3,000 tokens before, about 1,000 after (30% → 10% of the window)."
    assert outcome_text(done, Spelling.COLON) == f"Cleared. {size}\nTo undo: :undo"
    assert done_text(done, Spelling.SHELL) == f"Cleared. {size}"


def test_a_draft_is_told_with_its_text() -> None:
    drafted = CommandOutcome(
        handled=True, command="compact", status="completed", said="It is drafted.",
        hints=[CommandHint("/accept", "takes it")],
        draft=CommandDraft(text="In short:\n- a", accept="/accept draft:1"),
    )  # fmt: skip
    said = "It is drafted.\n\nIn short:\n- a\n\n:accept takes it."
    assert outcome_text(drafted, Spelling.COLON) == said


def test_a_rehearsal_says_that_nothing_was_changed() -> None:
    would = CommandOutcome(
        handled=True, command="compress", status="completed", said="Would go:\n  a file",
        dry_run=True,
    )  # fmt: skip
    assert done_text(would, Spelling.SLASH) == "Would go:\n  a file\nNothing was changed."


def test_a_refusal_is_worded_with_the_way_on_and_without_sizes() -> None:
    refused = CommandOutcome(
        handled=True, command="compact", status="skipped", said="Too short.", tokens=TOKENS,
        dry_run=True, hints=[CommandHint("/compact --force", "does it all the same")],
    )  # fmt: skip
    said = "Too short. trimpoint compact --force does it all the same."
    assert outcome_text(refused, Spelling.SHELL) == said


def test_the_outcome_of_a_daemon_that_has_no_parts_is_its_message() -> None:
    old = CommandOutcome(handled=True, command="clear", status="completed", message="Done.")
    assert outcome_text(old, Spelling.SHELL) == "Done."
    assert outcome_text(CommandOutcome(handled=True), Spelling.SHELL) == ""


def test_an_old_message_of_a_revert_is_shown_without_its_way_back() -> None:
    operation = Operation("id", "revert", Phase.READY, 0, message="Back.\nTo undo: /revert --undo")
    assert operation_said(operation) == "Back."
    operation.message = "Back.\nTwo files were left."
    assert operation_said(operation) == operation.message
