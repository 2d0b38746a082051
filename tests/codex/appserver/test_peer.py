"""Requests over the peer, with a scripted child for order and faults."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from msgspec import Raw
from structlog.testing import capture_logs
from trimpoint.codex.appserver.errors import (
    ProviderError,
    ProviderExited,
    ProviderOverloaded,
    ProviderTimeout,
)
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.peer import FastPath, Outcome

from tests.codex.children import scripted
from tests.codex.stage import (
    DEADLINE_S,
    REPLY,
    SCRIPTED_CHILD,
    PeerSession,
    expect_gone,
    peer_session,
)

pytestmark = pytest.mark.processes


async def outcome_of(stage: PeerSession, method: str, *, deadline_s: float = DEADLINE_S) -> Outcome:
    """Returns the outcome that `begin` passes to its callback."""
    outcomes: list[Outcome] = []
    delivered = anyio.Event()

    def deliver(outcome: Outcome) -> None:
        outcomes.append(outcome)
        delivered.set()

    stage.peer.begin(method, deadline_s=deadline_s, on_outcome=deliver)
    await delivered.wait()
    return outcomes[0]


# --- wire order ---


async def test_replies_find_their_requests_in_any_order(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage, anyio.create_task_group() as tasks:
        for name in ("first", "second"):
            tasks.start_soon(note_result, stage, name)
        await anyio.wait_all_tasks_blocked()
        stage.emit('{"id":2,"result":"two"}\n{"id":1,"result":"one"}\n')
    assert stage.timeline.events == ["second two", "first one"]


async def note_result(stage: PeerSession, name: str) -> None:
    result = await stage.peer.request("never", deadline_s=DEADLINE_S)
    stage.timeline.note(f"{name} {msgspec.json.decode(result)}")


async def test_notifications_before_a_reply_are_handled_before_it_is_returned(
    puppet: LaunchProfile,
) -> None:
    async with peer_session(puppet) as stage:
        text = '{"method":"before"}\n' + REPLY
        await stage.peer.request("emit", {"text": text}, deadline_s=DEADLINE_S)
        assert stage.timeline.events == ["before"]


async def test_a_callback_runs_at_the_reply_s_very_place_in_the_stream(
    puppet: LaunchProfile,
) -> None:
    async with peer_session(puppet) as stage:
        text = '{"method":"before"}\n' + REPLY + '{"method":"after"}\n'
        note = stage.timeline.note
        stage.peer.begin(
            "emit", {"text": text}, deadline_s=DEADLINE_S, on_outcome=lambda _: note("reply")
        )
        await stage.timeline.until("after")
    assert stage.timeline.events == ["before", "reply", "after"]


async def test_lines_of_the_fast_path_are_forwarded_unchanged_and_in_order(
    puppet: LaunchProfile,
) -> None:
    def forward(lines: list[bytes]) -> None:
        if any(b"bug" in line for line in lines):
            raise RuntimeError("handler bug")
        stage.timeline.note(" ".join(line.decode() for line in lines))

    async with peer_session(puppet) as stage:
        stage.timeline.fast_path = FastPath(b'{"method":"delta","params":{"n":', forward)
        first, second, third = (f'{{"method":"delta","params":{{"n":{n}}}}}' for n in (1, 2, 3))
        broken = '{"method":"delta","params":{"n":"bug"}}'
        lines = (
            '{"method":"before"}',
            first,
            second,
            '{"method":"between"}',
            broken,
            '{"method":"then"}',
            third,
            '{"method":"after"}',
        )
        stage.emit("".join(f"{line}\n" for line in lines))
        await stage.timeline.until("after")
    assert stage.timeline.events == [
        "before",
        f"{first} {second}",
        "between",
        "then",
        third,
        "after",
    ]


async def test_a_notification_is_handed_over_with_its_whole_line(puppet: LaunchProfile) -> None:
    line = '{"method":"m", "params":{"a":[1]}, "emittedAtMs":5}'
    async with peer_session(puppet) as stage:
        stage.emit(line + "\n")
        await stage.timeline.until("m")
    assert stage.timeline.lines == [line.encode()]
    assert stage.timeline.params == [{"a": [1]}]


async def test_a_flood_of_small_lines_keeps_its_order(tmp_path: Path) -> None:
    count = 100_000
    body = f'for n in range({count}): print(\'{{"method":"m","params":%d}}\' % n)'
    async with peer_session(scripted(tmp_path, body)) as stage:
        await stage.peer.closed()
    assert stage.timeline.params == list(range(count))


async def test_a_line_of_20_megabytes_is_one_message(tmp_path: Path) -> None:
    body = """print('{"method":"m","params":"' + 'x' * 20_000_000 + '"}')"""
    async with peer_session(scripted(tmp_path, body)) as stage:
        await stage.peer.closed()
    assert [len(params) for params in stage.timeline.params] == [20_000_000]


# --- requests that get no result ---


async def test_a_request_without_an_answer_times_out(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        with pytest.raises(ProviderTimeout, match=r"did not answer never within 0\.01 s"):
            await stage.peer.request("never", deadline_s=0.01)
        assert stage.peer.in_flight == 0


async def test_a_reply_that_comes_too_late_is_dropped_quietly(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        assert isinstance(await outcome_of(stage, "never", deadline_s=0.01), ProviderTimeout)
        stage.emit('{"id":1,"result":1}\n{"method":"next"}\n')
        await stage.timeline.until("next")
        assert stage.peer.dropped_lines == 1


async def test_a_cancelled_request_is_forgotten(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        with anyio.move_on_after(0.01):
            await stage.peer.request("never", deadline_s=DEADLINE_S)
        assert stage.peer.in_flight == 0
        stage.emit('{"id":1,"result":1}\n{"method":"next"}\n')
        await stage.timeline.until("next")


async def test_a_reply_in_the_very_moment_of_the_cancellation_does_no_harm(
    puppet: LaunchProfile,
) -> None:
    async with peer_session(puppet) as stage:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(note_result, stage, "never noted")
            await anyio.wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
            stage.peer.on_chunk(b'{"id":1,"result":1}\n')
        assert stage.peer.in_flight == 0
        stage.emit('{"method":"next"}\n')
        await stage.timeline.until("next")
    assert stage.timeline.events == ["next"]


async def test_a_reply_to_a_request_just_cancelled_is_no_failure(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        asking = asyncio.create_task(note_result(stage, "never noted"))
        await anyio.wait_all_tasks_blocked()
        with capture_logs() as logs:
            asking.cancel()
            stage.peer.on_chunk(b'{"id":1,"result":1}\n')
            await asyncio.wait([asking])
        assert logs == []


async def test_a_child_that_dies_in_the_middle_of_a_line_fails_the_request(tmp_path: Path) -> None:
    body = """
        sys.stdin.readline()
        sys.stdout.write('{"id":1,"result":')
        sys.stdout.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    async with peer_session(scripted(tmp_path, body)) as stage:
        with pytest.raises(ProviderExited, match="it was ended by SIGKILL"):
            await stage.peer.request("any", deadline_s=DEADLINE_S)


async def test_stderr_s_tail_comes_with_the_end(tmp_path: Path) -> None:
    body = "sys.stdin.readline(); sys.stderr.write('thread panicked'); sys.exit(101)"
    async with peer_session(scripted(tmp_path, body)) as stage:
        outcome = await outcome_of(stage, "never")
    assert isinstance(outcome, ProviderExited)
    assert (outcome.reason, outcome.stderr_tail) == ("it exited with status 101", "thread panicked")


async def test_a_reply_just_before_the_end_is_still_delivered(tmp_path: Path) -> None:
    body = """sys.stdin.readline(); print('{"id":1,"result":"last words"}')"""
    async with peer_session(scripted(tmp_path, body)) as stage:
        assert (
            msgspec.json.decode(await stage.peer.request("any", deadline_s=DEADLINE_S))
            == "last words"
        )


async def test_requests_to_a_child_that_is_being_stopped_are_refused(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage, anyio.create_task_group() as tasks:
        tasks.start_soon(stage.child.stop)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(ProviderExited):
            stage.peer.notify("late")


@pytest.mark.parametrize(
    ("error", "code", "message", "data"),
    [
        ('{"code":-32001,"message":"overloaded"}', -32001, "overloaded", None),
        ('{"code":-32602,"message":"m","data":{"k":1}}', -32602, "m", {"k": 1}),
        ('"what?"', -32603, "Codex sent a malformed error", None),
    ],
)
async def test_an_error_is_handed_over_as_it_came(
    puppet: LaunchProfile, error: str, code: int, message: str, data: Any
) -> None:
    async with peer_session(puppet) as stage:
        text = '{"id":ID,"error":' + error + "}\n"
        refused = await stage.peer.request_raw("emit", {"text": text}, deadline_s=DEADLINE_S)
    assert isinstance(refused, ProviderError)
    assert (refused.code, refused.message) == (code, message)
    assert (None if refused.data is None else msgspec.json.decode(refused.data)) == data
    assert bytes(refused.raw) == error.encode()
    assert str(refused) == f"{message} ({code})"


# --- what a child should not do ---


async def test_lines_that_are_no_messages_are_passed_over(puppet: LaunchProfile) -> None:
    rubbish = [
        "not json",
        "",
        "[1,2]",
        '{"method":7}',
        "{}",
        '{"id":"1","result":1}',
        "[" * 100_000,
    ]
    async with peer_session(puppet) as stage:
        stage.emit("\n".join([*rubbish, '{"method":"next"}', ""]))
        await stage.timeline.until("next")
        assert stage.peer.dropped_lines == len(rubbish) - 1
    assert stage.timeline.events == ["next"]


async def test_text_that_is_no_utf_8_is_passed_over(tmp_path: Path) -> None:
    body = r"""sys.stdout.buffer.write(b'{"method":"\xff"}\n{"method":"next"}\n')"""
    async with peer_session(scripted(tmp_path, body)) as stage:
        await stage.timeline.until("next")
        assert stage.peer.dropped_lines == 1


async def test_a_reply_without_a_result_is_null(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        result = await stage.peer.request("emit", {"text": '{"id":ID}\n'}, deadline_s=DEADLINE_S)
    assert bytes(result) == b"null"


async def test_a_line_without_an_end_ends_the_child(tmp_path: Path) -> None:
    body = "sys.stdout.write('x' * 3_000_000); sys.stdout.flush(); signal.pause()"
    async with peer_session(scripted(tmp_path, body), max_line_bytes=1_000_000) as stage:
        outcome = await outcome_of(stage, "never")
    assert str(outcome) == "Codex is gone: it sent a line of more than 1000000 bytes"


async def test_input_after_an_over_long_line_is_not_read(puppet: LaunchProfile) -> None:
    async with peer_session(puppet, max_line_bytes=1000) as stage:
        stage.peer.on_chunk(b"x" * 1001)
        stage.peer.on_chunk(b'\n{"method":"late"}\n')
        with pytest.raises(ProviderExited, match="more than 1000 bytes"):
            stage.peer.notify("n")
    assert stage.timeline.events == []


# --- handlers ---


# --- sending ---


async def test_raw_params_are_sent_as_they_are_and_in_one_line(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        stage.peer.notify("n", Raw(b'{\n  "a": "x\\ny"\n}'))
        assert await stage.timeline.received() == {"method": "n", "params": {"a": "x\ny"}}


@pytest.mark.parametrize("params", [None, Raw()])
async def test_no_params_are_left_out(puppet: LaunchProfile, params: Raw | None) -> None:
    async with peer_session(puppet) as stage:
        stage.peer.notify("n", params)
        assert await stage.timeline.received() == {"method": "n"}


async def test_a_raw_result_is_sent_as_it_is(puppet: LaunchProfile) -> None:
    async with peer_session(puppet) as stage:
        stage.peer.respond(Raw(b"7"), Raw(b'[1, "two"]'))
        assert await stage.timeline.received() == {"id": 7, "result": [1, "two"]}


async def test_a_child_that_does_not_read_is_not_buffered_for_without_bound(tmp_path: Path) -> None:
    async with peer_session(
        scripted(tmp_path, "signal.pause()"), max_unsent_bytes=2_000_000
    ) as stage:
        stage.peer.notify("n", "x" * 4_000_000)
        with pytest.raises(ProviderOverloaded, match="the limit is 2000000") as refused:
            stage.peer.notify("n", "x")
        assert refused.value.unsent_bytes == stage.child.unsent_bytes > 2_000_000


async def test_waiting_for_room_counts_against_the_deadline(tmp_path: Path) -> None:
    async with peer_session(scripted(tmp_path, "signal.pause()")) as stage:
        stage.peer.notify("n", "x" * 4_000_000)
        unsent_bytes = stage.child.unsent_bytes
        with pytest.raises(ProviderTimeout):
            await stage.peer.request("m", deadline_s=0.02)
        assert stage.child.unsent_bytes == unsent_bytes


async def test_a_request_goes_out_when_there_is_room_again(tmp_path: Path) -> None:
    body = SCRIPTED_CHILD.replace("for line", "os.kill(os.getpid(), signal.SIGSTOP)\n    for line")
    async with peer_session(scripted(tmp_path, body)) as stage:
        stage.peer.notify("never", "x" * 4_000_000)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(request_an_answer, stage)
            await anyio.wait_all_tasks_blocked()
            assert stage.peer.in_flight == 0
            while not stopped(stage.child.pid):
                await anyio.lowlevel.checkpoint()
            os.kill(stage.child.pid, signal.SIGCONT)
    assert stage.timeline.events == ["answered"]


async def request_an_answer(stage: PeerSession) -> None:
    await stage.peer.request("emit", {"text": REPLY}, deadline_s=DEADLINE_S)
    stage.timeline.note("answered")


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


async def test_waiting_for_room_ends_with_the_child(tmp_path: Path) -> None:
    async with peer_session(scripted(tmp_path, "signal.pause()")) as stage:
        stage.peer.notify("n", "x" * 4_000_000)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(expect_gone, stage)
            await anyio.wait_all_tasks_blocked()
            assert stage.peer.in_flight == 0
            stage.child.kill()
