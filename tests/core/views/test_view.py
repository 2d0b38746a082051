"""The read model for clients: its shape, and that it contains nothing of the provider."""

from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given as given_any
from hypothesis import strategies as st
from trimpoint.core.model import events as ev
from trimpoint.core.model.clock import rfc3339
from trimpoint.core.model.decision import Policy, busy
from trimpoint.core.model.operations import Phase
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.meter import context_status
from trimpoint.core.views.view import TurnWindow, blocker, envelopes, read_model

from tests.core.given import THREAD, Conversation, compact, started, trim
from tests.core.samples import SAMPLES, SECRET


def as_json(wire: object) -> dict[str, Any]:
    return msgspec.json.decode(msgspec.json.encode(wire), type=dict[str, Any])


def view(thread: Conversation, read_only: str | None = None) -> dict[str, Any]:
    return as_json(read_model(thread.state, Policy(), read_only))


def a_long_life() -> Conversation:
    """Returns a thread with every kind of private data in its journal."""
    thread = started(turns=3)
    thread.clear(2)
    thread.compact(None)
    thread.turn(activities=["ls"])
    operation_id = thread.begin_compaction(force=True)
    thread.report(ev.CompactionForked(operation_id, "codex-thread-fork"))
    thread.report(ev.SettingsChanged(b'{"secretSetting":2}'), ev.RequestOpened("0", "approval"))
    thread.write(
        ev.ArchivedAndNewCreated(
            THREAD, "thread-2", None, None, None, "/work", b'{"secretSetting":3}'
        )
    )
    return thread


@pytest.mark.parametrize("trace", ["codex-thread-", "/rollouts/", "secretSetting", "input_text"])
def test_private_fields_are_in_no_read_model_and_no_envelope(trace: str) -> None:
    thread = a_long_life()
    shown = [
        view(thread),
        *(as_json(e) for record in thread.records for e in envelopes(thread.state, record)),
    ]
    assert trace in str(thread.records)
    assert trace not in str(shown)


@pytest.mark.parametrize("event", SAMPLES, ids=lambda event: type(event).__name__)
def test_no_event_shows_a_private_field(event: ev.AnyEvent) -> None:
    (envelope,) = envelopes(ThreadState(id=THREAD), ev.Record(1, 1, 0, (event,)))
    assert SECRET not in msgspec.json.encode(envelope).decode()


def test_every_field_that_can_hold_something_private_is_marked() -> None:
    private = {
        "provider_thread_id", "provider_turn_id", "rollout_path", "settings", "items", "masks", "launch",
    }  # fmt: skip
    for event in get_args(ev.AnyEvent):
        assert event.private == private & set(event.__struct_fields__)


def test_an_envelope_names_where_its_event_stands() -> None:
    events = (ev.ThreadRenamed("a"), ev.ThreadRenamed("b"))
    record = ev.Record(100, 7, 1_764_000_000_250, events, "command-1", b"f", "operation-1")
    first, second = (as_json(envelope) for envelope in envelopes(ThreadState(id=THREAD), record))
    assert first == {
        "sequence": 100,
        "threadSequence": 7,
        "eventId": "thread-1/7",
        "occurredAt": "2025-11-24T16:00:00.250Z",
        "commandId": "command-1",
        "operationId": "operation-1",
        "type": "thread.renamed",
        "payload": {"name": "a", "unconfirmed": False},
        "askedBy": None,
    }
    assert (second["sequence"], second["threadSequence"], second["eventId"]) == (
        101,
        8,
        "thread-1/8",
    )


def payload(event: ev.AnyEvent) -> dict[str, Any]:
    (envelope,) = envelopes(ThreadState(id=THREAD), ev.Record(1, 1, 0, (event,)))
    return dict(as_json(envelope)["payload"])


def test_a_trim_point_is_shown_with_the_members_of_the_contract() -> None:
    created = ev.TrimPointCreated(THREAD, "tp", 250, None, 4, ("turn-1",), "turn-2", 2, "clear")
    assert payload(created) == {
        "threadId": THREAD,
        "trimPointId": "tp",
        "createdAt": "1970-01-01T00:00:00.250Z",
        "beforeEntryId": None,
        "prunedMessageCount": 4,
        "prunedTurnIds": ["turn-1"],
        "firstKeptTurnId": "turn-2",
        "generation": 2,
        "trigger": "clear",
        "summaryUnavailable": False,
        "prunedTurnCount": 1,
        "lastPrunedTurnId": None,
        "prunedInjected": 0,
    }


def test_the_event_of_a_trim_lists_the_turns_of_its_range_for_those_who_ask() -> None:
    thread = started(turns=3)
    thread.clear(1)
    (record,) = (
        one
        for one in thread.records
        if any(isinstance(event, ev.TrimPointCreated) for event in one.events)
    )

    def listed() -> tuple[list[str], int]:
        shown = (
            as_json(one)["payload"] for one in envelopes(thread.state, record) if one.type == TRIM
        )
        return next((one["prunedTurnIds"], one["prunedTurnCount"]) for one in shown)

    assert listed() == (["turn-1", "turn-2"], 2)
    thread.report(ev.TurnsRolledBack("turn-2"))
    assert listed() == ([], 2)  # the thread no longer has them


TRIM = "thread.trim-point-created"


def test_the_other_events_of_the_contract_have_its_members() -> None:
    assert payload(ev.ContextSummarized(THREAD, "tp", "in short", 1_500)) == {
        "threadId": THREAD,
        "trimPointId": "tp",
        "summary": "in short",
        "compactDurationMs": 1_500,
        "model": None,
        "guidance": None,
        "tokensBefore": 0,
        "tokensAfter": 0,
    }
    created = ev.ArchivedAndNewCreated(THREAD, "thread-2", "w", "main", "p", "/work", b"{}")
    assert payload(created) == {
        "archivedThreadId": THREAD,
        "newThreadId": "thread-2",
        "worktreeId": "w",
        "branchName": "main",
        "projectId": "p",
        "cwd": "/work",
        "withPins": False,
    }
    assert payload(ev.SessionStopRequested(3)) == {"generation": 3}


def test_the_detail_of_an_entry_is_shown_as_json() -> None:
    event = ev.EntryRecorded("t", "e", "activity", "commandExecution", "ls", b'{"command":"ls"}')
    assert payload(event)["detail"] == {"command": "ls"}
    assert payload(msgspec.structs.replace(event, detail=b""))["detail"] is None


def test_the_read_model_of_a_fresh_thread() -> None:
    thread = started()
    assert view(thread, "the disk is full") == {
        "id": THREAD,
        "name": "A name",
        "cwd": "/work",
        "projectId": "project-1",
        "worktreeId": "worktree-1",
        "branchName": "main",
        "archived": False,
        "createdAt": "2025-11-24T16:00:00.000Z",
        "sequence": 4,
        "threadSequence": 4,
        "contextTrimPoints": [],
        "turns": [],
        "turnCount": 0,
        "activeTurnCount": 0,
        "messageCount": 0,
        "activeMessageCount": 0,
        "session": {"status": "ready", "generation": 1, "generationReason": "start"},
        "operation": None,
        "pendingRequests": [],
        "checkpoints": [],
        "compactionCount": 0,
        "context": as_json(context_status(thread.state, Policy())),
        "readOnly": "the disk is full",
        "pins": [],
        "newThreadId": None,
        "firstTurn": 0,
        "queue": [],
        "handoffs": [],
        "parentThreadId": None,
        "queueHold": None,
    }


def test_the_read_model_of_a_thread_with_a_past() -> None:
    thread = started(turns=3)
    point = thread.compact("in short", keep=1)
    thread.begin_turn()
    thread.report(ev.RequestOpened("0", "approval"))
    shown = view(thread)
    assert shown["contextTrimPoints"] == [
        {
            "id": point,
            "createdAt": shown["contextTrimPoints"][0]["createdAt"],
            "beforeEntryId": "turn-2/assistant/answer of turn-2",
            "prunedMessageCount": 4,
            "prunedTurnIds": ["turn-1", "turn-2"],
            "firstKeptTurnId": "turn-3",
            "summary": "in short",
            "summaryUnavailable": False,
            "trigger": "compact",
            "status": "applied",
            "generation": 2,
            "trimKind": "boundary",
            "discardedEntryIds": [],
            "estTokens": None,
            "turnsBefore": 2,
            "maskedEntryIds": [],
        }
    ]
    assert [(turn["id"], turn["trimmed"], turn["status"]) for turn in shown["turns"]] == [
        ("turn-1", True, "completed"),
        ("turn-2", True, "completed"),
        ("turn-3", False, "completed"),
        ("turn-4", False, "running"),
    ]
    assert (shown["turnCount"], shown["activeTurnCount"]) == (4, 2)
    assert (shown["messageCount"], shown["activeMessageCount"]) == (7, 4)
    assert shown["operation"]["kind"] == "compact"
    assert shown["operation"]["phase"] == "ready"
    assert shown["session"] == {"status": "ready", "generation": 2, "generationReason": "compact"}
    assert shown["pendingRequests"] == [
        {"id": "0", "method": "approval", "since": rfc3339(thread.now_ms - 1_000)}
    ]
    assert shown["turns"][3]["completedAt"] is None
    assert shown["turns"][0]["completedAt"] > shown["turns"][0]["startedAt"]
    assert shown["compactionCount"] == 1


def trim_point_statuses(thread: Conversation) -> list[str]:
    return [point["status"] for point in view(thread)["contextTrimPoints"]]


def test_a_trim_point_is_pending_until_its_session_is_ready() -> None:
    thread = started(turns=3)
    thread.do(trim(2))
    assert trim_point_statuses(thread) == ["pending"]
    assert view(thread)["session"]["status"] == "pending"
    thread.settle()
    assert trim_point_statuses(thread) == ["applied"]


def test_a_trim_point_whose_session_could_not_start_is_deferred_until_it_does() -> None:
    thread = started(turns=3)
    thread.clear(2)
    thread.do(trim(1))
    thread.advance(Phase.FAILED)
    assert trim_point_statuses(thread) == ["applied", "deferred"]
    thread.write(ev.OperationStarted("again", "start"))
    assert trim_point_statuses(thread) == ["applied", "pending"]
    thread.settle()
    assert trim_point_statuses(thread) == ["applied", "applied"]


def test_a_stopped_session_is_shown_as_stopped() -> None:
    thread = started()
    thread.report(ev.SessionStopped(1))
    assert view(thread)["session"]["status"] == "stopped"


def test_a_blocker_has_the_time_since_which_it_blocks() -> None:
    thread = started(turns=3)
    thread.do(compact())
    block = busy(thread.state)
    assert block is not None
    assert as_json(blocker(block)) == {
        "kind": "operation",
        "id": "id-13",
        "since": "2025-11-24T16:00:13.000Z",
        "detail": "compact",
    }


@given_any(st.integers(min_value=0, max_value=253_402_300_799_999))
def test_times_are_rfc_3339_to_the_millisecond(at_ms: int) -> None:
    text = rfc3339(at_ms)
    assert len(text) == len("2026-01-31T09:05:00.250Z")
    assert text.endswith(f".{at_ms % 1000:03}Z")


def test_checkpoints_are_shown_and_so_is_why_there_is_none() -> None:
    thread = started()
    first = thread.turn()
    commit = thread.checkpoint(first)
    thread.report(ev.CheckpointFailed("turn-2", "before", "The disk is full."))
    made, missing = view(thread)["checkpoints"]
    assert (made["turnId"], made["moment"], made["commit"], made["problem"]) == (
        first,
        "after",
        commit,
        None,
    )
    assert (missing["turnId"], missing["commit"], missing["problem"]) == (
        "turn-2",
        None,
        "The disk is full.",
    )


def test_a_snapshot_of_some_turns_has_those_and_says_where_they_stand() -> None:
    thread = started(turns=5)
    thread.clear(2)
    whole = read_model(thread.state, Policy())
    newest = read_model(thread.state, Policy(), window=TurnWindow(2))
    older = read_model(thread.state, Policy(), window=TurnWindow(2, before=3))
    assert newest.turns == whole.turns[3:]
    assert older.turns == whole.turns[1:3]
    assert (whole.first_turn, newest.first_turn, older.first_turn) == (0, 3, 1)
    assert (newest.turn_count, older.turn_count) == (5, 5)


def test_the_size_of_a_snapshot_of_some_turns_does_not_grow_with_the_thread() -> None:
    def size(turns: int) -> int:
        thread = started(turns=turns)
        for turn in list(thread.state.turns):
            thread.report(ev.CheckpointCaptured(turn.id, "after", "/repository", "ref", "commit"))
        thread.clear(2)
        return len(msgspec.json.encode(read_model(thread.state, Policy(), window=TurnWindow(3))))

    assert size(60) - size(20) < 20


@pytest.mark.parametrize(("size", "before"), [(0, None), (9, None), (2, 0), (2, 99)])
def test_a_window_beyond_the_thread_has_what_there_is(size: int, before: int | None) -> None:
    thread = started(turns=3)
    shown = read_model(thread.state, Policy(), window=TurnWindow(size, before))
    end = min(3, before if before is not None else 3)
    assert len(shown.turns) == min(size, end)
    assert shown.first_turn == end - len(shown.turns)


def test_each_trim_point_says_how_many_turns_stand_before_it() -> None:
    thread = started(turns=4)
    thread.clear(1)
    thread.turn()
    thread.clear(None)
    points = read_model(thread.state, Policy()).context_trim_points
    assert [point.turns_before for point in points] == [3, 5]


def test_a_failed_turn_says_what_the_provider_said() -> None:
    thread = started()
    turn_id = thread.begin_turn()
    answer = '{"error": {"message": "The model is gone.", "code": "x"}}'
    thread.report(ev.TurnCompleted(turn_id, "failed", answer))
    [turn] = read_model(thread.state, Policy()).turns
    assert (turn.error, thread.state.turns[0].error) == ("The model is gone.", answer)
    *_, ended = envelopes(thread.state, thread.records[-1])
    assert ended.payload["error"] == "The model is gone."
