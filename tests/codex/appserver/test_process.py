"""A child from its start to its end: the real Codex, and scripted children for faults that Codex
does not produce on demand.
"""

import os
import re
import select
import signal
from collections.abc import Generator
from pathlib import Path

import anyio
import msgspec
import pytest
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.process import (
    ChildExit,
    ChildNotStarted,
    CodexChild,
    StopGrace,
    spawn_codex,
)

from tests.codex.children import (
    IMPATIENT,
    INITIALIZE,
    REAL_CODEX,
    SAY_PID,
    STUBBORN,
    WAIT_FOR_EVER,
    ending_of,
    fresh_codex_home,
    group_has_ended,
    listen,
    scripted,
)
from tests.deadlines import SCENARIO_S, STEP_S

pytestmark = pytest.mark.processes


@pytest.fixture
def codex_home() -> Generator[Path]:
    with fresh_codex_home() as home:
        yield home


# --- the real Codex ---


async def test_the_real_codex_ends_with_status_0_when_its_input_ends(codex_home: Path) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(LaunchProfile(REAL_CODEX, codex_home=codex_home)) as child:
            sink = listen(child)
            child.write(INITIALIZE)
            assert '"userAgent"' in await sink.line()
    assert child.exit == ChildExit(status=0)
    assert sink.exits == [ChildExit(status=0)]
    await group_has_ended(child.pid)


async def test_overrides_reach_the_real_codex(codex_home: Path) -> None:
    profile = LaunchProfile(REAL_CODEX, overrides=("model_provider=1",), codex_home=codex_home)
    with anyio.fail_after(STEP_S):
        async with spawn_codex(profile) as child:
            listen(child)
            exit_ = await child.closed()
    assert exit_.status not in (0, None)
    assert "model_provider" in child.stderr_tail()


async def test_a_flood_on_the_real_codex_s_stderr_neither_blocks_it_nor_grows_the_tail(
    codex_home: Path,
) -> None:
    environment = (("RUST_LOG", "trace"),)
    with anyio.fail_after(SCENARIO_S):
        async with spawn_codex(LaunchProfile(REAL_CODEX, (), codex_home, environment)) as child:
            sink = listen(child)
            child.write(INITIALIZE)
            assert '"userAgent"' in await sink.line()
    assert 4096 < len(child.stderr_tail()) <= 16 * 1024
    assert "\x1b" not in child.stderr_tail()


# --- stopping ---


async def test_a_child_that_ignores_everything_is_killed(tmp_path: Path) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, STUBBORN), grace=IMPATIENT) as child:
            await listen(child).line()
    assert child.exit == ChildExit(signal=signal.SIGKILL)
    assert str(child.exit) == "was ended by SIGKILL"


async def test_a_child_that_ignores_the_end_of_input_gets_sigterm_first(tmp_path: Path) -> None:
    grace = StopGrace(after_eof_s=0.05, after_term_s=10)
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, SAY_PID + WAIT_FOR_EVER), grace=grace) as child:
            await listen(child).line()
    assert child.exit == ChildExit(signal=signal.SIGTERM)


async def test_everything_written_is_sent_before_stdin_is_closed(tmp_path: Path) -> None:
    size = 4 * 1024 * 1024
    with anyio.fail_after(STEP_S):
        async with spawn_codex(
            scripted(tmp_path, "print(len(sys.stdin.buffer.read()), flush=True)")
        ) as child:
            sink = listen(child)
            child.write(bytes(size // 2))
            child.write(bytes(size // 2))
    assert await sink.line() == str(size)


async def test_a_child_full_of_unread_output_can_still_end(tmp_path: Path) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(
            scripted(tmp_path, "sys.stdout.write('x' * 8_000_000); sys.exit(3)")
        ) as child:
            pass
    assert child.exit == ChildExit(status=3)


async def test_a_child_that_takes_its_time_after_its_last_word_is_given_its_grace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimpoint.codex.appserver.process._SETTLE_S", 0.0)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    body = f"sys.stdin.read()\nos.close(1)\nopen({str(gate)!r}).read()\nsys.exit(5)"
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body), grace=StopGrace(after_eof_s=15)) as child:
            listen(child)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child.stop)
                # Opens when the child has closed its stdout and does the same.
                async with await anyio.open_file(gate, "w"):
                    await anyio.wait_all_tasks_blocked()
    assert child.exit == ChildExit(status=5)


async def test_the_rest_of_the_process_group_ends_with_its_leader(tmp_path: Path) -> None:
    body = """
        member = subprocess.Popen(["sleep", "1000"])
        print(member.pid, flush=True)
        sys.stdin.read()
    """
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body)) as child:
            member = int(await listen(child).line())
            with ending_of(member) as pidfd:
                await child.stop()
                await anyio.wait_readable(pidfd)


async def test_a_stranger_that_holds_the_pipes_does_not_hold_up_the_end(tmp_path: Path) -> None:
    body = """
        stranger = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        print(stranger.pid, flush=True)
        sys.stdin.read()
    """
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body)) as child:
            stranger = int(await listen(child).line())
        os.kill(stranger, signal.SIGKILL)
    assert child.exit == ChildExit(status=0)


async def test_cancellation_does_not_leak_a_child(tmp_path: Path) -> None:
    with anyio.fail_after(STEP_S):
        children: list[CodexChild] = []
        with anyio.CancelScope() as scope:
            async with spawn_codex(scripted(tmp_path, STUBBORN), grace=IMPATIENT) as child:
                children.append(child)
                await listen(child).line()
                scope.cancel()
                await anyio.sleep_forever()
        assert children[0].exit == ChildExit(signal=signal.SIGKILL)
        await group_has_ended(children[0].pid)


async def test_stopping_twice_at_once_is_harmless(tmp_path: Path) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, STUBBORN), grace=IMPATIENT) as child:
            sink = listen(child)
            await sink.line()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(child.stop)
                tasks.start_soon(child.stop)
            child.write(b"of no effect")
            assert child.unsent_bytes == 0
    assert sink.exits == [ChildExit(signal=signal.SIGKILL)]


# --- how it ends by itself ---


@pytest.mark.parametrize(
    ("body", "exit_", "said"),
    [
        ("sys.exit(7)", ChildExit(status=7), "exited with status 7"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", ChildExit(signal=11), "was ended by SIGSEGV"),
        ("os.kill(os.getpid(), 40)", ChildExit(signal=40), "was ended by signal 40"),
    ],
)
async def test_the_exit_code_or_signal_is_reported(
    tmp_path: Path, body: str, exit_: ChildExit, said: str
) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body)) as child:
            listen(child)
            assert await child.closed() == exit_
    assert str(child.exit) == said


async def test_the_end_is_noticed_without_pidfds_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", unsupported)
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, "sys.exit(7)")) as child:
            listen(child)
            assert await child.closed() == ChildExit(status=7)


async def test_all_it_said_arrives_before_its_end(tmp_path: Path) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, "sys.stdout.write('x' * 3_000_000)")) as child:
            sink = listen(child)
            await child.closed()
            assert len(sink.data) == 3_000_000


async def test_a_listener_of_an_ended_child_is_notified_of_the_end(tmp_path: Path) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, "sys.exit(7)")) as child:
            await child.closed()
            assert listen(child).exits == [ChildExit(status=7)]


@pytest.mark.parametrize("stream", ["stdout", "stdin"])
async def test_a_child_that_closes_a_pipe_and_stays_is_killed(tmp_path: Path, stream: str) -> None:
    body = (
        f"os.close(sys.{stream}.fileno())\nprint(1, file=sys.stderr, flush=True)\n" + WAIT_FOR_EVER
    )
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body)) as child:
            listen(child)
            while not child.stderr_tail():
                await anyio.lowlevel.checkpoint()
            child.write(b"{}\n")
            assert await child.closed() == ChildExit(signal=signal.SIGKILL)
            assert not child.accepts_input


async def test_a_child_that_stops_reading_half_way_is_killed(tmp_path: Path) -> None:
    body = "os.read(0, 1)\nos.close(0)\n" + WAIT_FOR_EVER
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body)) as child:
            listen(child)
            child.write(bytes(4_000_000))
            await child.room()
            assert not child.accepts_input
            assert child.unsent_bytes == 0
            assert await child.closed() == ChildExit(signal=signal.SIGKILL)


async def test_the_tail_of_stderr_is_bounded_and_without_colours(tmp_path: Path) -> None:
    body = r"sys.stderr.write('x' * 100_000 + '\x1b[31mred\x1b[0m \x1b]8;;http://a\x07link\x1b]8;;\x1b\\ end')"
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, body)) as child:
            listen(child)
            await child.closed()
    assert child.stderr_tail().endswith("xred link end")
    assert len(child.stderr_tail()) <= 16 * 1024


# --- starting ---


async def test_a_missing_binary_is_refused_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ChildNotStarted, match="not an executable file") as refused:
        async with spawn_codex(LaunchProfile(tmp_path / "codex")):
            pass
    assert "--codex" in refused.value.hint


@pytest.mark.parametrize(
    "profile", [{"cwd": Path("/nonexistent")}, {"overrides": ("a\0b",)}], ids=str
)
async def test_a_program_that_cannot_be_executed_raises_child_not_started(
    profile: dict[str, object],
) -> None:
    with pytest.raises(ChildNotStarted, match=r"No such file|NUL"):
        async with spawn_codex(msgspec.structs.replace(LaunchProfile(REAL_CODEX), **profile)):
            pass


async def test_a_file_that_is_no_program_ends_with_the_reason_on_stderr(tmp_path: Path) -> None:
    broken = tmp_path / "codex"
    broken.write_bytes(b"\x7fELF of another machine")
    broken.chmod(0o755)
    with anyio.fail_after(STEP_S):
        async with spawn_codex(LaunchProfile(broken)) as child:
            listen(child)
            assert await child.closed() == ChildExit(status=126)
    assert f"cannot execute {broken}: Exec format error" in child.stderr_tail()


@pytest.mark.linux("widens a pipe")
async def test_the_last_output_of_a_child_is_read_by_a_daemon_that_had_no_time_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The settling time is over before the loop runs again, as on a machine that is busy with
    # something else.
    monkeypatch.setattr("trimpoint.codex.appserver.process._SETTLE_S", 0.0)
    size = 900_000  # less than the kernel keeps for a pipe, more than is read at once
    profile = scripted(tmp_path, f"os.write(1, b'x' * {size}); os.write(2, b'last words')")
    with anyio.fail_after(STEP_S):
        async with spawn_codex(profile) as child:
            sink = listen(child)
            with ending_of(child.pid) as pidfd:
                select.select([pidfd], [], [])
            await child.closed()
    assert len(sink.data) == size
    assert child.stderr_tail() == "last words"


async def test_a_child_leads_a_session_in_its_folder_and_gets_its_overrides(tmp_path: Path) -> None:
    body = """
        print(os.getsid(0) == os.getpid(), os.getcwd(), sys.argv[1:], flush=True)
    """
    profile = msgspec.structs.replace(
        scripted(tmp_path, body), cwd=tmp_path, overrides=("a=1", "b=2")
    )
    with anyio.fail_after(STEP_S):
        async with spawn_codex(profile) as child:
            line = await listen(child).line()
    assert line == f"True {tmp_path} ['app-server', '-c', 'a=1', '-c', 'b=2']"


@pytest.fixture
def background_job() -> Generator[None]:
    """Makes this process ignore and block the signals that a background job of a script, or a
    program under `nohup`, ignores and blocks.
    """
    ignored = (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTSTP, signal.SIGRTMIN)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in ignored}
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM})
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("background_job")
async def test_a_child_ignores_and_blocks_no_signal_even_when_the_daemon_does(
    tmp_path: Path,
) -> None:
    path = tmp_path / "codex"
    path.write_text("#!/bin/sh\ngrep -E 'Sig(Ign|Blk)' /proc/self/status | tr '\\n' ' '; echo\n")
    path.chmod(0o755)
    with anyio.fail_after(STEP_S):
        async with spawn_codex(LaunchProfile(path)) as child:
            line = await listen(child).line()
    assert re.fullmatch(r"SigBlk:\s+0+ SigIgn:\s+0+ ?", line)
