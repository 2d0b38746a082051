"""A thread is busy for as long as something happens in it, and no longer."""

from functools import partial
from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.errors import ProviderTimeout
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.operations import Phase
from trimpoint.operations import session_reactions
from trimpoint.threads.errors import CommandRefused
from trimpoint_protocol.commands import (
    ArchiveThread,
    RevertToCheckpoint,
    TrimContext,
    UnarchiveThread,
)
from trimpoint_protocol.errors import Reason

from tests.operations.stage import Stage, opened_stage
from tests.threads.stage import THREAD, published, turn

CLEAR = TrimContext(command_id="c", thread_id=THREAD, keep_last_n_turns=1)
TURN: dict[str, Any] = {"id": "T3", "items": [], "status": "inProgress"}
ENDED: dict[str, Any] = {"id": "T3", "items": [], "status": "interrupted"}


@pytest.mark.parametrize("method", ["thread/shellCommand", "review/start"])
async def test_a_request_that_begins_a_turn_makes_the_thread_busy_before_it_is_sent(
    method: str,
) -> None:
    async with opened_stage() as stage:
        await stage.thread("T1", "T2")
        sent, answered = anyio.Event(), anyio.Event()

        async def answer(_: dict[str, Any]) -> Any:
            sent.set()
            await answered.wait()
            return {}

        stage.codex.answers[method] = answer
        stage.tasks.start_soon(partial(stage.ask, method))
        await sent.wait()
        with pytest.raises(CommandRefused) as refused:
            await stage.operations.sessions.dispatch(CLEAR)
        answered.set()
    assert refused.value.reason is Reason.TURN_IN_PROGRESS


async def test_a_request_that_failed_leaves_the_thread_at_rest() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")

        async def late(_: dict[str, Any]) -> Any:
            raise ProviderTimeout("thread/shellCommand", 30.0)

        stage.codex.answers["thread/shellCommand"] = late
        with pytest.raises(ProviderTimeout):
            await stage.ask("thread/shellCommand", command="ls")
        assert writer.state.turn_requests == {}


async def test_a_turn_that_codex_begins_as_the_context_is_trimmed_ends_with_its_session() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        await stage.operations.sessions.dispatch(CLEAR)
        stage.says("turn/started", turn=TURN)

        async def archived(_: dict[str, Any]) -> Any:
            stage.says("turn/completed", turn=ENDED)  # as Codex does (measured: 0.163)
            return {}

        stage.codex.answers["thread/archive"] = archived
        await stage.codex.until(lambda: "thread/archive" in stage.codex.answered)
        await stage.operations.sessions.ready(THREAD)
        assert writer.state.running_turn_id is None
        await stage.hears("turn/completed")


async def test_a_turn_that_codex_begins_after_its_session_was_left_is_in_the_ledger() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")

        async def archived(_: dict[str, Any]) -> Any:
            stage.says("turn/started", turn=TURN)
            stage.says("turn/completed", turn=ENDED)
            return {}

        stage.codex.answers["thread/archive"] = archived
        await stage.operations.sessions.dispatch(CLEAR)
        await stage.codex.until(lambda: "thread/archive" in stage.codex.answered)
        await stage.hears("turn/completed")
        assert (writer.state.turns[-1].id, writer.state.turns[-1].status) == ("T3", "interrupted")
    methods = stage.client.methods()
    assert methods.index("turn/started") < methods.index("turn/completed")


async def test_a_compaction_changes_nothing_when_a_turn_has_begun_meanwhile() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        requested = ev.CompactionRequested("O", 0, None)
        writer.record_facts(ev.OperationStarted("O", "compact"), requested)
        writer.submit(internal.AdvanceOperation("O", Phase.COMPACTING, ""))
        stage.says("turn/started", turn=TURN)
        with pytest.raises(CommandRefused) as refused:
            await writer.execute(internal.CompleteCompaction("O", "gist", 1))
        assert writer.state.trim_points == []
    assert refused.value.reason is Reason.COMPACTION_FAILED


async def test_what_codex_said_before_it_ended_begins_no_turn_afterwards() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        with stage.operations.router.pausing(THREAD):
            stage.says("turn/started", turn=TURN)
            stage.operations.router.on_epoch_ended(1, "it was killed")
        assert writer.state.running_turn_id is None
        assert "turn/started" not in stage.client.methods()


async def test_a_thread_that_is_unarchived_as_it_is_archived_is_not_archived_in_codex() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        asked, may_answer = stage.codex.hold("thread/backgroundTerminals/list", {})
        await stage.operations.sessions.dispatch(ArchiveThread(command_id="a", thread_id=THREAD))
        await asked.wait()
        await stage.operations.sessions.dispatch(UnarchiveThread(command_id="u", thread_id=THREAD))
        may_answer.set()
        await stage.codex.until(lambda: "thread/unarchive" in stage.codex.answered)
        order = [method for method, _ in stage.codex.asked if method.endswith("archive")]
        assert order == ["thread/archive", "thread/unarchive"]
        assert not writer.state.archived


async def test_a_session_that_could_not_be_stopped_is_stopped_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_reactions, "RETRY_PAUSES_S", (0.001,))
    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        attempts: list[dict[str, Any]] = []

        async def late(params: dict[str, Any]) -> Any:
            attempts.append(params)
            if len(attempts) < 3:
                raise ProviderTimeout("thread/archive", 30.0)
            return {}

        stage.codex.answers["thread/archive"] = late
        with published(stage.registry, ev.SessionStopped) as stopped:
            archive = ArchiveThread(command_id="a", thread_id=THREAD)
            await stage.operations.sessions.dispatch(archive)
            await stopped.wait()
        assert (len(attempts), writer.state.session_stopped) == (3, True)


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("thread/inject_items", {"items": [{"type": "message", "role": "user", "content": []}]}),
    ("thread/settings/update", {"effort": "high"}),
    ("thread/name/set", {"name": "new"}),
    ("thread/revert", {"beforeTurnId": "T1"}),
    ("thread/memoryMode/set", {"mode": "disabled"}),
]


@pytest.mark.parametrize(("method", "params"), CHANGES)
async def test_what_codex_did_with_an_unanswered_change_is_read_back(
    method: str, params: dict[str, Any]
) -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        await late_answer(stage, method, params)
        asked = stage.codex.count("thread/turns/list")
        await stage.operations.sessions.ready(THREAD)
        assert stage.codex.count("thread/turns/list") > asked


async def test_a_revert_that_codex_carried_out_unanswered_is_seen_behind_the_turn_that_followed() -> (
    None
):
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")

        async def listed(_: dict[str, Any]) -> Any:
            item = {"type": "agentMessage", "id": "answer", "text": "hello"}
            turns = [{"id": one, "status": "completed", "items": [item]} for one in ("T3", "T1")]
            return {"data": turns}

        await late_answer(stage, "thread/revert", {"beforeTurnId": "T2"})
        writer.record_facts(*turn("T3"))  # it was sent behind the revert
        stage.codex.answers["thread/turns/list"] = listed
        await stage.operations.sessions.ready(THREAD)
        assert [one.id for one in writer.state.turns] == ["T1", "T3"]


async def late_answer(stage: Stage, method: str, params: dict[str, Any]) -> None:
    async def late(_: dict[str, Any]) -> Any:
        raise ProviderTimeout(method, 30.0)

    stage.codex.answers[method] = late
    with pytest.raises(ProviderTimeout):
        await stage.ask(method, **params)


async def test_no_trim_begins_while_codex_takes_turns_back() -> None:
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        asked, may_answer = stage.codex.hold("thread/revert", {"thread": {"id": THREAD}})
        async with anyio.create_task_group() as asking:
            asking.start_soon(partial(stage.ask, "thread/revert", beforeTurnId="T2"))
            await asked.wait()
            with pytest.raises(CommandRefused) as refused:
                await stage.operations.sessions.dispatch(CLEAR)
            may_answer.set()
        assert refused.value.reason is Reason.TURN_IN_PROGRESS
        assert ([one.id for one in writer.state.turns], writer.state.turn_requests) == (["T1"], {})


@pytest.mark.parametrize(
    "command",
    [CLEAR, RevertToCheckpoint(command_id="r", thread_id=THREAD, turn_id="T1", scope="context")],
    ids=["trim", "revert"],
)
async def test_no_session_is_replaced_while_a_client_puts_something_into_its_context(
    command: TrimContext | RevertToCheckpoint,
) -> None:
    note = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "note"}]}
    async with opened_stage() as stage:
        writer = await stage.thread("T1", "T2")
        asked, may_answer = stage.codex.hold("thread/inject_items", {})
        async with anyio.create_task_group() as asking:
            asking.start_soon(partial(stage.ask, "thread/inject_items", items=[note]))
            await asked.wait()
            before = len(stage.codex.asked)
            await stage.operations.sessions.dispatch(command)
            await anyio.wait_all_tasks_blocked()
            asked_meanwhile = [method for method, _ in stage.codex.asked[before:]]
            phase = writer.state.operation.phase if writer.state.operation is not None else None
            may_answer.set()
        await stage.operations.sessions.operation_ended(writer)
        assert (asked_meanwhile, phase) == ([], Phase.REQUESTED)
        assert writer.state.operation is not None
        assert writer.state.operation.phase is Phase.READY
