"""A refusal names the command that helps on."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
import trimpoint.core
from trimpoint.core.commands.parsing import NotACommand, parse
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import SUB_AGENT
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.spelling import Spelling, spelled
from trimpoint.core.views.outcome_text import ways_on
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, started


@pytest.mark.parametrize(
    ("command", "reason", "way_on"),
    [
        (client(wire.RevertToCheckpoint, turn_count=1), Reason.CHECKPOINT_NOT_FOUND, "/revert 1 --context"),
        (client(wire.RevertToCheckpoint, turn_count=9), Reason.TURN_NOT_FOUND, "/timeline"),
        (client(wire.RevertToCheckpoint, turn_id="no"), Reason.TURN_NOT_FOUND, "/timeline"),
        (client(wire.PinContext, turns=[9]), Reason.TURN_NOT_FOUND, "/timeline"),
        (client(wire.UnpinContext, pins=["9"]), Reason.ENTRY_NOT_FOUND, "/pins"),
        (client(wire.CompactContext), Reason.NOT_ENOUGH_MESSAGES, "/compact --force"),
        (
            client(wire.CompactContext, keep_last_n_turns=2, force=True),
            Reason.NOTHING_TO_TRIM, "/compact",
        ),
        (client(wire.TrimContext, keep_last_n_turns=5), Reason.NOTHING_TO_TRIM, "/clear 0"),
        (client(wire.DiscardContext, target_tokens=90_000), Reason.NOTHING_TO_TRIM, "/compress N"),
        (client(wire.UndoTrim), Reason.NOTHING_TO_UNDO, "/revert N"),
        (client(wire.RevertToCheckpoint, undo=True), Reason.NOTHING_TO_REVERT, "/undo"),
        (
            client(wire.RevertToCheckpoint, turn_count=2, scope="context"),
            Reason.NOTHING_TO_REVERT, "/timeline",
        ),
    ],
)  # fmt: skip
def test_a_refusal_of_what_was_typed_names_the_way_on(
    command: wire.AnyClientCommand, reason: Reason, way_on: str
) -> None:
    thread = started(turns=2)
    thread.do(client(wire.PinContext, turns=[2]))
    rejected = thread.when(command).rejected(reason)
    assert way_on in [hint.command for hint in rejected.hints]


@pytest.mark.parametrize(
    ("command", "reason", "ways_on"),
    [
        (client(wire.CompactContext), Reason.NOT_ENOUGH_MESSAGES, ["/context", "/undo"]),
        (client(wire.TrimContext), Reason.NOTHING_TO_TRIM, ["/context", "/undo"]),
        (client(wire.UnpinContext), Reason.NOTHING_TO_UNDO, ["/pin N", "/pin sentence"]),
    ],
)  # fmt: skip
def test_an_empty_context_says_what_to_do_instead(
    command: wire.AnyClientCommand, reason: Reason, ways_on: list[str]
) -> None:
    thread = started(turns=2)
    thread.clear()
    hints = thread.when(command).rejected(reason).hints
    assert [hint.command for hint in hints] == ways_on


def test_an_archived_thread_names_the_command_that_brings_it_back() -> None:
    thread: Conversation = started()
    thread.do(client(wire.ArchiveThread))
    rejected = thread.when(client(wire.TrimContext)).rejected(Reason.THREAD_ARCHIVED)
    (hint,) = rejected.hints
    assert spelled(hint.command, Spelling.SHELL) == "trimpoint threads unarchive thread-1"


NOTHING = "there is nothing to act on, and a program or a window asked, not a typed command"
SAID = "the sentence itself says what to do, or when"
PROGRAM = "only a program can make the mistake, and its author reads the sentence"
NOT_ASKED = "the daemon itself asked, and no person reads it as an answer"
WITHOUT_A_COMMAND = {
    ("decider", "decide", "THREAD_NOT_FOUND"): PROGRAM,
    ("decider", "_create", "INTERNAL"): NOT_ASKED,
    ("decider", "_advance", "INTERNAL"): NOT_ASKED,
    ("decider", "_archive_and_new", "NOTHING_TO_TRIM"): NOTHING,
    ("decision", "when_idle", "_BUSY_REASONS[block.kind]"): SAID,
    ("discarding", "discard", "USAGE"): PROGRAM,
    ("discarding", "mask", "ALREADY_DISCARDED"): NOTHING,
    ("discarding", "mask", "NOTHING_TO_TRIM"): NOTHING,
    ("discarding", "plan_compression", "USAGE"): SAID,
    ("discarding", "_named", "ENTRY_PROTECTED"): SAID,
    ("discarding", "_unknown_entries", "ENTRY_NOT_FOUND"): SAID,
    ("discarding", "_unknown_entries", "ALREADY_DISCARDED"): NOTHING,
    ("overflow", "recover_from_overflow", "NOT_SUPPORTED"): NOT_ASKED,
    ("overflow", "complete_recovery", "INTERNAL"): NOT_ASKED,
    ("pinning", "_new_pins", "USAGE"): SAID,
    ("queueing", "queue_prompt", "USAGE"): SAID,
    ("queueing", "reorder_queue", "INVALID_PARAMS"): PROGRAM,
    ("queueing", "release_queue", "USAGE"): NOTHING,
    ("queueing", "_refuse_prompt", "USAGE"): SAID,
    ("queueing", "_refuse_prompt", "TURN_IN_PROGRESS"): NOTHING,
    ("queueing", "refuse_input", "INVALID_PARAMS"): SAID,
    ("queueing", "refuse_input", "USAGE"): SAID,
    ("reverting", "revert_to_checkpoint", "USAGE"): PROGRAM,
    ("reverting", "_turns_kept", "NOTHING_TO_REVERT"): NOTHING,
    ("reverting", "complete_revert", "INTERNAL"): NOT_ASKED,
    ("reverting", "roll_back_turns", "NOT_SUPPORTED"): PROGRAM,
    ("revisions", "resolve_range", "CHECKPOINT_NOT_FOUND"): NOTHING,
    ("revisions", "_safety", "CHECKPOINT_NOT_FOUND"): NOTHING,
    ("revisions", "_beginning", "CHECKPOINT_NOT_FOUND"): NOTHING,
    ("revisions", "_revision", "CHECKPOINT_NOT_FOUND"): SAID,
    ("stretch_summaries", "stretch_to_compact", "USAGE"): SAID,
    ("stretch_summaries", "summarized", "COMPACTION_FAILED"): SAID,
    ("stretches", "stretch_of", "USAGE"): PROGRAM,
    ("stretches", "masked_stretch_of", "USAGE"): PROGRAM,
    ("trimming", "compaction_under_way", "INTERNAL"): NOT_ASKED,
    ("trimming", "compaction_under_way", "COMPACTION_FAILED"): SAID,
    ("trimming", "compacted", "COMPACTION_FAILED"): SAID,
    ("undoing", "undo_trim", "NOTHING_TO_UNDO"): PROGRAM,
    ("undoing", "undoable", "NOTHING_TO_UNDO"): SAID,
    ("undoing", "_plan_redo", "NOTHING_TO_UNDO"): SAID,
}
"""The refusals that name no command, by module, function and reason, and why not."""

CORE = Path(trimpoint.core.__file__).parent


def _calls(
    name: str, of: type[ast.Module | ast.FunctionDef]
) -> Iterator[tuple[tuple[str, str], ast.Call]]:
    """Yields the calls of a function in the core, with the module and the function they are in."""
    for path in sorted(CORE.rglob("*.py")):
        for outer in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for call in ast.walk(outer) if isinstance(outer, of) else ():
                if isinstance(call, ast.Call) and ast.unparse(call.func) == name:
                    yield (path.stem, getattr(outer, "name", "")), call


def test_every_refusal_names_a_command_or_is_listed_with_the_reason_why_not() -> None:
    bare = {
        (*where, ast.unparse(call.args[0]).removeprefix("Reason."))
        for where, call in _calls("Rejected", ast.FunctionDef)
        if not any(one.arg == "hints" for one in call.keywords)
    }
    assert bare == set(WITHOUT_A_COMMAND)


def test_a_way_on_is_a_command_that_there_is() -> None:
    named = [call.args[0] for _, call in _calls("CommandHint", ast.Module)]
    written = [one.value for one in named if isinstance(one, ast.Constant)]
    assert len(written) > 3
    for command in written:
        assert isinstance(command, str)
        assert not isinstance(parse(command.replace("N", "1")), NotACommand), command


@pytest.mark.parametrize(
    ("blocked", "reason", "way_on"),
    [
        (ev.TurnStarted("t-9", 0), Reason.TURN_IN_PROGRESS, "Wait for its end, or interrupt it."),
        (
            ev.RequestOpened("q", "item/commandExecution/requestApproval"),
            Reason.REQUEST_PENDING,
            "Answer it, or interrupt the turn.",
        ),
        (ev.RequestOpened("q", SUB_AGENT), Reason.REQUEST_PENDING, "Try again when it has ended."),
    ],
)
def test_a_busy_thread_says_what_to_do_about_it(
    blocked: ev.AnyEvent, reason: Reason, way_on: str
) -> None:
    thread = started(turns=2)
    thread.report(blocked)
    assert thread.when(client(wire.TrimContext)).rejected(reason).message.endswith(way_on)


@pytest.mark.parametrize(
    ("reason", "ways"),
    [(Reason.COMPACTION_FAILED, ["/compact", "/compress", "/clear N"]), (Reason.NOT_SMALLER, [])],
)
def test_a_compaction_that_failed_says_what_makes_room(reason: Reason, ways: list[str]) -> None:
    thread = started(turns=3)
    operation_id = thread.begin_compaction()
    assert thread.state.operation is not None
    assert ways_on(thread.state.operation) == ()
    thread.do(internal.AdvanceOperation(operation_id, Phase.FAILED, "It failed.", reason=reason))
    assert [one.command for one in ways_on(thread.state.operation)] == ways
