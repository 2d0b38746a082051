"""`/auto`: what is chosen for a thread, what is said of it, and how it is taken back."""

import msgspec
import pytest
from trimpoint.core.commands.auto import Auto
from trimpoint.core.commands.declaration import Done
from trimpoint.core.commands.parsing import UsageError, parse
from trimpoint.core.decide.auto_compaction import auto_status
from trimpoint.core.decide.autopilot import may_be_due
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.views.advice import trim_advice
from trimpoint.core.views.auto_view import auto_said
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.automatic import MASK, MINUTE_MS, measured, trims, worked
from tests.core.given import Conversation, client, started
from tests.core.pinning import act
from tests.core.usage import made_up

WARN = msgspec.structs.replace(MASK, auto="warn")
LITTLE = msgspec.structs.replace(MASK, min_freed=0.1)


def choose(thread: Conversation, mode: str | None) -> tuple[ev.AnyEvent, ...]:
    return thread.do(client(wire.SetAuto, mode=mode)).events


def said(thread: Conversation, minutes: float = 0, mode: str | None = None) -> str:
    last = thread.state.usage.last_call
    now = (last.at_ms if last is not None else 0) + round(minutes * MINUTE_MS)
    return auto_said(thread.state, thread.policy, now, mode).text


def test_what_is_chosen_holds_for_the_thread_alone_and_is_taken_back_by_its_former_mode() -> None:
    thread = measured(worked(policy=WARN), 95_000)
    assert trims(thread) == []
    events = choose(thread, "mask")
    assert events == (ev.AutoChosen("mask", None),)
    assert Auto("mask").way_back(Done(thread.state, events)) == "/auto default"
    status = auto_status(thread.state, thread.policy)
    assert (status.mode, status.is_chosen) == ("mask", True)
    assert trims(thread)
    thread.settle()
    events = choose(thread, "off")
    assert Auto("off").way_back(Done(thread.state, events)) == "/auto mask"
    assert choose(thread, "off") == ()
    assert Auto("off").way_back(Done(thread.state)) is None
    assert choose(thread, None) == (ev.AutoChosen(None, "off"),)
    assert auto_status(thread.replayed(), thread.policy).mode == "warn"


def test_off_holds_against_a_configuration_that_would_act() -> None:
    thread = measured(worked(), 95_000)
    choose(thread, "off")
    assert trims(thread) == []
    assert not may_be_due(thread.state, thread.policy, thread.now_ms)


def test_it_can_be_chosen_while_a_turn_runs_but_not_for_an_archived_thread() -> None:
    thread = started(turns=1)
    thread.begin_turn()
    assert choose(thread, "mask")
    archived = started(turns=1)
    archived.do(client(wire.ArchiveThread))
    archived.when(client(wire.SetAuto, mode="off")).rejected(Reason.THREAD_ARCHIVED)


@pytest.mark.parametrize("given", ["on", "mask compact", "--mask"])
def test_what_is_no_mode_is_refused_with_those_that_are(given: str) -> None:
    found = parse(f"/auto {given}")
    assert isinstance(found, UsageError)
    assert "Usage: /auto [off|warn|mask|compact|default] [--dry-run]" in found.message


def test_it_says_what_is_done_and_how_to_have_more_done() -> None:
    text, hints = auto_said(started().state, Policy(), 0)
    assert text == "Automatic: warn, as configured: you are told when the context fills up."
    assert [one.command for one in hints] == ["/auto mask"]
    assert said(started(), mode="off").startswith("Automatic: off, chosen for this thread: nothing")
    assert said(started(), mode="default").startswith("Automatic: warn, as configured")


def test_it_says_what_comes_next_and_when() -> None:
    assert said(worked()).endswith("Codex has reported how full the context is.")
    assert said(measured(worked(), 30_000)).endswith(
        "Next: nothing before 35% of the window; it is 30% full."
    )
    little = measured(worked(policy=LITTLE), 60_000)
    assert said(little).endswith("Next: nothing, as old output takes less than 10% of the window.")
    warm = measured(worked(), 55_000)
    assert "masked when the provider's cache is cold, in 10 minutes without a call" in said(warm)
    assert "5 outputs of about" in said(warm)
    assert said(warm, 11).endswith(
        "are masked, as soon as no turn runs. It costs nothing: the provider's cache holds nothing "
        "of this context any more."
    )
    assert "The next call reads about" in said(measured(worked(), 95_000))


def test_it_says_that_it_leaves_alone_who_has_undone_a_mask() -> None:
    thread = measured(worked(), 95_000)
    assert trims(thread)
    thread.settle()
    act(thread, client(wire.UndoTrim))
    measured(thread, 98_000)
    assert said(thread).endswith("has grown by a tenth of the window, as you undid it.")


def test_it_says_that_nothing_can_be_masked_where_codex_alone_knows_the_context() -> None:
    thread = worked()
    thread.compact(None)
    measured(thread, 60_000)
    assert "Next: nothing. Only Codex can read the summary" in said(thread)


def test_a_context_that_is_compacted_next_says_so_and_one_that_is_not_yet_when() -> None:
    policy = msgspec.structs.replace(LITTLE, auto="compact")
    thread = measured(worked(policy=policy), 60_000)
    assert said(thread).endswith("At 90% of the window it is compacted.")
    measured(thread, 95_000)
    assert said(thread).endswith("Next: the context is compacted, as soon as no turn runs.")
    for _ in range(2):
        operation = thread.do(internal.TrimWhenDue()).operation_id
        assert operation is not None
        thread.advance(internal.Phase.FAILED, message="No model.")
        measured(thread, 95_000)
    assert "Automatic compaction has stopped" in said(thread)


def test_an_estimate_of_codex_own_is_no_measure() -> None:
    thread = worked()
    turn_id = thread.begin_turn()
    thread.report(made_up(turn_id, 95_000, 100_000))
    thread.report(ev.TurnCompleted(turn_id, "completed"))
    assert "it is decided when" in said(thread)


def test_advice_names_the_mode_that_would_act_now_with_the_same_figures() -> None:
    thread = measured(worked(policy=WARN), 95_000)
    last = thread.state.usage.last_call
    assert last is not None
    found = trim_advice(thread.state, WARN, last.at_ms)
    assert "/auto mask" not in [one.command for one in found.advice], "below 5 % of the window"
    cold = last.at_ms + 11 * MINUTE_MS
    heavy = measured(worked(40, policy=WARN), 95_000)
    advised = {one.command: one for one in trim_advice(heavy.state, WARN, cold).advice}
    choose(heavy, "mask")
    [masked] = trims(heavy)
    assert advised["/auto mask"].frees_tokens == masked.est_tokens
    heavy.settle()
    again = [one.command for one in trim_advice(heavy.state, WARN, cold).advice]
    assert "/auto mask" not in again
