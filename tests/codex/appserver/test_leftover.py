"""Children that a killed daemon leaves behind are ended."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import AsyncExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.codex.appserver.orphans import (
    CHILD_MARK,
    ChildRecord,
    has_mark,
    process_start_ticks,
    reap_orphans,
    record_child,
    started_as_provider,
)
from trimpoint.codex.appserver.process import ChildExit, StopGrace, spawn_codex

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
    has_ended,
    listen,
    scripted,
)
from tests.deadlines import STEP_S

pytestmark = pytest.mark.processes

# What a daemon does with a child, without the daemon. argv: binary, CODEX_HOME, state directory,
# first line.
DAEMON = """
import anyio, sys
from pathlib import Path
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.process import spawn_codex

class Print:
    said = b""
    def on_chunk(self, data):
        self.said += data
        if b"\\n" in self.said:
            print("child:", self.said.decode().split("\\n")[0], flush=True)
    def on_exit(self, exit_):
        pass

async def main():
    codex, home, state_dir = map(Path, sys.argv[1:4])
    async with spawn_codex(LaunchProfile(codex, codex_home=home), state_dir=state_dir) as child:
        print(child.pid, flush=True)
        child.attach(Print())
        child.write(sys.argv[4].encode())
        await anyio.sleep_forever()

anyio.run(main)
"""


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    folder = tmp_path / "state"
    folder.mkdir()
    return folder


def record_paths(state_dir: Path) -> list[Path]:
    return list(state_dir.glob("child-*.pid"))


def read_record(state_dir: Path) -> ChildRecord:
    return msgspec.json.decode(record_paths(state_dir)[0].read_bytes(), type=ChildRecord)


def modes(state_dir: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in state_dir.iterdir()}


def forge_record(state_dir: Path, **changes: Any) -> None:
    forged = msgspec.structs.replace(read_record(state_dir), **changes)
    record_paths(state_dir)[0].write_bytes(msgspec.json.encode(forged))


def signals_nobody(pid: int, number: int) -> None:
    """Replaces `os.killpg` by a function that sends no signal."""


def start_daemon(codex: Path, home: Path, state_dir: Path) -> subprocess.Popen[str]:
    roots = os.pathsep.join(sys.path)
    command = [
        sys.executable,
        "-c",
        DAEMON,
        str(codex),
        str(home),
        str(state_dir),
        INITIALIZE.decode(),
    ]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": roots}
    )


@contextmanager
def killed_daemon_s_child(codex: Path, home: Path, state_dir: Path) -> Generator[tuple[str, int]]:
    """Runs a daemon until its child has printed a line, then kills the daemon. Yields that line and
    the child's pidfd.
    """
    with start_daemon(codex, home, state_dir) as daemon:
        assert daemon.stdout is not None
        pid = int(daemon.stdout.readline())
        said = daemon.stdout.readline().removeprefix("child: ").strip()
        with ending_of(pid) as pidfd:
            daemon.kill()
            daemon.wait()
            try:
                yield said, pidfd
            finally:
                # For a test that fails: nothing of it stays behind.
                with suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)


def test_a_killed_daemon_leaves_no_real_codex_behind(state_dir: Path) -> None:
    with (
        fresh_codex_home() as codex_home,
        killed_daemon_s_child(REAL_CODEX, codex_home, state_dir) as (_, pidfd),
    ):
        anyio.run(has_ended, pidfd)


@pytest.mark.linux("needs the start times of processes")
async def test_a_child_that_survives_sigkill_is_given_up_and_stays_on_record(
    tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grace = StopGrace(after_eof_s=0.05, after_term_s=0.05, after_kill_s=0.05)
    with anyio.fail_after(STEP_S):
        with monkeypatch.context() as powerless:
            async with spawn_codex(
                scripted(tmp_path, STUBBORN), state_dir=state_dir, grace=grace
            ) as child:
                await listen(child).line()
                powerless.setattr(os, "killpg", signals_nobody)
        assert child.exit == ChildExit()
        assert str(child.exit) == "did not end after SIGKILL"
        assert len(record_paths(state_dir)) == 1
        with ending_of(child.pid) as pidfd:
            os.killpg(child.pid, signal.SIGKILL)
            await anyio.wait_readable(pidfd)
        await group_has_ended(child.pid)


def test_a_process_that_does_not_exist_has_no_start_and_is_not_recorded(state_dir: Path) -> None:
    nobody = 2**22 + 1  # above the kernel's largest possible pid
    assert process_start_ticks(nobody) is None
    record_child(state_dir, "key", pid=nobody, mark="1-a", codex=REAL_CODEX)
    assert modes(state_dir) == {}


@pytest.mark.linux("needs the start times of processes")
def test_a_program_s_name_does_not_confuse_its_start_time(tmp_path: Path) -> None:
    odd = tmp_path / "a) R 1 (b"
    odd.symlink_to("/bin/sleep")
    with subprocess.Popen([odd, "1000"]) as process:
        start = process_start_ticks(process.pid)
        process.kill()
    assert start is not None
    assert start >= (process_start_ticks(os.getpid()) or 0) > 0


def test_only_a_direct_child_of_trimpoint_takes_itself_for_its_provider() -> None:
    assert started_as_provider({CHILD_MARK: "41-ab12"}, parent_pid=41)
    assert not started_as_provider({CHILD_MARK: "41-ab12"}, parent_pid=42)
    assert not started_as_provider({}, parent_pid=41)


# --- children left over ---


@pytest.mark.linux("needs the start times of processes")
async def test_a_child_is_on_record_exactly_while_it_runs(tmp_path: Path, state_dir: Path) -> None:
    profile = scripted(tmp_path, STUBBORN)
    with anyio.fail_after(STEP_S):
        async with spawn_codex(profile, state_dir=state_dir, grace=IMPATIENT) as child:
            record = read_record(state_dir)
            assert (record.pid, record.mark, record.codex) == (
                child.pid,
                child.mark,
                str(profile.codex),
            )
            assert record.start_time_ticks == process_start_ticks(child.pid)
            assert modes(state_dir) == {f"child-{profile.key}.pid": 0o600}
    assert modes(state_dir) == {}


async def test_a_state_directory_that_cannot_be_written_does_not_keep_codex_from_running(
    tmp_path: Path,
) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(
            scripted(tmp_path, SAY_PID), state_dir=tmp_path / "missing"
        ) as child:
            assert await listen(child).line() == str(child.pid)


@pytest.mark.linux("needs the start times of processes")
async def test_the_end_of_one_child_does_not_forget_another_of_the_same_profile(
    tmp_path: Path, state_dir: Path
) -> None:
    profile = scripted(tmp_path, SAY_PID + "sys.stdin.read()")
    async with AsyncExitStack() as later:
        async with spawn_codex(profile, state_dir=state_dir):
            second = await later.enter_async_context(spawn_codex(profile, state_dir=state_dir))
        assert read_record(state_dir).pid == second.pid


@pytest.mark.linux("needs the start times of processes")
def test_a_child_that_ignores_the_end_of_input_ends_with_its_daemon(
    tmp_path: Path, state_dir: Path
) -> None:
    profile = scripted(tmp_path, SAY_PID + WAIT_FOR_EVER)
    with killed_daemon_s_child(profile.codex, tmp_path, state_dir) as (_, pidfd):
        anyio.run(has_ended, pidfd)


@pytest.mark.linux("needs the start times of processes")
def test_a_stubborn_child_of_a_killed_daemon_is_reaped_at_the_next_start(
    tmp_path: Path, state_dir: Path
) -> None:
    profile = scripted(tmp_path, STUBBORN)
    with killed_daemon_s_child(profile.codex, tmp_path, state_dir) as (said, pidfd):
        reaped = anyio.run(reap_impatiently, state_dir)
        assert [str(record.pid) for record in reaped] == [said]
        anyio.run(has_ended, pidfd)
    assert record_paths(state_dir) == []


@pytest.mark.linux("needs the start times of processes")
def test_the_process_group_of_an_orphan_ends_with_it(tmp_path: Path, state_dir: Path) -> None:
    body = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        member = subprocess.Popen(["sleep", "1000"])
        from_the_kernel_then_from_the_reaper = iter([lambda: None, lambda: os._exit(0)])
        signal.signal(signal.SIGTERM, lambda *_: next(from_the_kernel_then_from_the_reaper)())
        print(member.pid, flush=True)
        while True: signal.pause()
    """
    profile = scripted(tmp_path, body)
    with (
        killed_daemon_s_child(profile.codex, tmp_path, state_dir) as (said, pidfd),
        ending_of(int(said)) as member,
    ):
        anyio.run(reap_impatiently, state_dir)
        anyio.run(has_ended, pidfd)
        anyio.run(has_ended, member)


@pytest.mark.linux("needs the start times of processes")
def test_members_that_outlived_an_orphan_are_ended_too(tmp_path: Path, state_dir: Path) -> None:
    body = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        member = subprocess.Popen(["sleep", "1000"])
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        print(member.pid, flush=True)
        while True: signal.pause()
    """
    profile = scripted(tmp_path, body)
    with (
        killed_daemon_s_child(profile.codex, tmp_path, state_dir) as (said, pidfd),
        ending_of(int(said)) as member,
    ):
        anyio.run(has_ended, pidfd)
        assert anyio.run(reap_impatiently, state_dir) == []
        anyio.run(has_ended, member)


@pytest.mark.linux("needs the start times of processes")
async def test_a_member_that_has_just_been_started_is_recognized() -> None:
    # `Popen` often returns while the kernel still loads the program.
    environment = {**os.environ, CHILD_MARK: "41-ab12"}
    for _ in range(100):
        with subprocess.Popen(["sleep", "1000"], env=environment) as member:  # noqa: ASYNC220
            try:
                assert await has_mark(member.pid, "41-ab12")
                assert not await has_mark(member.pid, "41-other")
            finally:
                member.kill()
        assert not await has_mark(member.pid, "41-ab12")


async def reap_impatiently(state_dir: Path) -> list[ChildRecord]:
    with anyio.fail_after(STEP_S):
        return await reap_orphans(state_dir, term_grace_s=0.5)


@pytest.mark.linux("needs the start times of processes")
async def test_a_leftover_that_survives_keeps_its_record(
    tmp_path: Path, state_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(
            scripted(tmp_path, STUBBORN), state_dir=state_dir, grace=IMPATIENT
        ) as child:
            await listen(child).line()
            with monkeypatch.context() as powerless:
                powerless.setattr(os, "killpg", signals_nobody)
                assert await reap_orphans(state_dir, term_grace_s=0.05, kill_grace_s=0.05) == []
            assert len(record_paths(state_dir)) == 1


@pytest.mark.parametrize(
    "forged",
    [
        {"start_time_ticks": 1},
        {"boot_id": "another boot"},
        {"mark": "1-another", "codex": "/another/codex"},
    ],
    ids=["start", "boot", "looks"],
)
@pytest.mark.linux("needs the start times of processes")
async def test_a_pid_that_was_used_again_is_left_alone(
    tmp_path: Path, state_dir: Path, forged: dict[str, Any]
) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(
            scripted(tmp_path, STUBBORN), state_dir=state_dir, grace=IMPATIENT
        ) as child:
            await listen(child).line()
            forge_record(state_dir, **forged)
            assert await reap_orphans(state_dir) == []
            assert child.exit is None
            assert record_paths(state_dir) == []


@pytest.mark.parametrize(
    "proof", [{"mark": "1-another"}, {"codex": "/another/codex"}], ids=["binary", "mark"]
)
@pytest.mark.linux("needs the start times of processes")
async def test_one_proof_of_identity_is_enough_to_end_an_orphan(
    tmp_path: Path, state_dir: Path, proof: dict[str, Any]
) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(
            scripted(tmp_path, STUBBORN), state_dir=state_dir, grace=IMPATIENT
        ) as child:
            await listen(child).line()
            forge_record(state_dir, **proof)
            assert [gone.pid for gone in await reap_orphans(state_dir, term_grace_s=0.05)] == [
                child.pid
            ]
            assert await child.closed() == ChildExit(signal=signal.SIGKILL)


@pytest.mark.linux("needs the start times of processes")
async def test_records_of_the_dead_and_unreadable_ones_are_removed(
    tmp_path: Path, state_dir: Path
) -> None:
    with anyio.fail_after(STEP_S):
        async with spawn_codex(scripted(tmp_path, SAY_PID), state_dir=state_dir) as child:
            listen(child)
            await child.closed()
            kept = record_paths(state_dir)[0].read_bytes()
    (state_dir / "child-dead.pid").write_bytes(kept)
    (state_dir / "child-torn.pid").write_bytes(kept[:10])
    (state_dir / "other.pid").write_bytes(b"")
    assert await reap_orphans(state_dir) == []
    assert list(modes(state_dir)) == ["other.pid"]
