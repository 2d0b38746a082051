"""A process of trimpoint that is a fork is what the same program is that was started as always."""

import os
import pty
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import anyio
import pytest
from coverage import Coverage
from trimpoint_protocol.locations import default_state_dir

from tests.deadlines import STEP_S
from tests.forking import client
from tests.forking.client import COMMAND, ROOT, SOURCES, Forking, ForkServerError

pytestmark = pytest.mark.processes

ENVIRONMENT = os.environ | {"PYTHONPATH": os.pathsep.join(SOURCES)}
WAITING = [*COMMAND, "acp"]
# Not `initialize`, with which it would start a daemon.
TOO_EARLY = b'{"jsonrpc":"2.0","id":1,"method":"session/new"}\n'
STATUS = ("PPid", "Umask", "SigIgn", "SigBlk")


@pytest.fixture(params=[True, False], ids=["forked", "executed"])
def forked(request: pytest.FixtureRequest) -> bool:
    Forking.enabled = request.param
    return bool(request.param)


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    options = {"env": ENVIRONMENT, "capture_output": True, "text": True, **options}
    return subprocess.run([*COMMAND, *words], timeout=STEP_S, check=False, **options)


@contextmanager
def agent(**options: Any) -> Generator[subprocess.Popen[bytes]]:
    """Runs a program that waits for input, and needs neither a daemon nor Codex."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": ENVIRONMENT}
    with subprocess.Popen(WAITING, **{**pipes, **options}) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(TOO_EARLY)
            process.stdin.flush()
            assert b"Send initialize first" in process.stdout.readline()
            yield process
        finally:
            process.kill()


def files(pid: int) -> dict[Path, Path]:
    """Returns the open files of a process, by descriptor."""
    open_files = {}
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # just closed
            open_files[descriptor] = descriptor.readlink()
    return open_files


def facts(pid: int) -> dict[str, Any]:
    """Returns what the kernel tells of a process."""
    folder, ours = Path(f"/proc/{pid}"), set(files(os.getpid()).values())
    status = dict(line.split(":\t", 1) for line in (folder / "status").read_text().splitlines())
    return {
        **{name: status[name] for name in STATUS},
        "state": {name: (folder / name).readlink() for name in ("cwd", "exe")},
        "command": [word for word in (folder / "cmdline").read_text().split("\0") if word],
        "limits": (folder / "limits").read_text(),
        "inherited": sorted(one.name for one, target in files(pid).items() if target in ours),
        "session": os.getsid(pid) == pid,
        "group": os.getpgid(pid) in {pid, os.getpgid(0)},
    }


@pytest.mark.parametrize("new_session", [False, True])
def test_the_kernel_tells_the_same_of_a_fork(tmp_path: Path, *, new_session: bool) -> None:
    told = []
    reader, writer = os.pipe()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 7, hard))
    options = {"pass_fds": [writer], "cwd": tmp_path, "umask": 0o027}
    try:
        for Forking.enabled in (True, False):
            with agent(**options, start_new_session=new_session) as process:
                told.append(facts(process.pid))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        os.close(reader)
        os.close(writer)
    assert told[0] == told[1]


def test_output_exit_code_and_working_directory_are_the_same(forked: bool, tmp_path: Path) -> None:
    shown = run("--version", cwd=tmp_path)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert shown.stdout.startswith("trimpoint ")
    refused = run("nonsense")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.startswith("trimpoint: There is no command")
    assert run("help", "undo").stdout.startswith("usage: trimpoint undo")


def test_no_daemon_of_a_test_runs_in_the_default_state_directory() -> None:
    if not default_state_dir(os.environ).is_symlink():
        pytest.skip("scripts/test keeps that directory from being made")
    refused = run("serve", "--background", "--json")
    assert (refused.returncode, "state_directory" in refused.stdout) == (1, True)


def test_a_full_disk_is_met_when_the_output_is_flushed(forked: bool) -> None:
    with open("/dev/full", "wb") as full:
        ended = run("--version", capture_output=False, stdout=full, stderr=subprocess.PIPE)
    assert ended.returncode == 1
    assert "No space left" in ended.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_signal_ends_it_as_always(forked: bool, number: signal.Signals) -> None:
    with agent() as process:
        process.send_signal(number)
        ended = process.wait(STEP_S)
    assert ended == (-9 if number == signal.SIGKILL else 0)


def test_a_leader_of_a_session_has_the_terminal_that_it_reads(forked: bool) -> None:
    ours, theirs = pty.openpty()
    try:
        ended = run(
            "--version", capture_output=False, stdout=theirs, stdin=theirs, start_new_session=True
        )
        assert ended.returncode == 0
        assert os.read(ours, 4096).startswith(b"trimpoint ")
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_fork_measures_its_coverage_where_that_is_wanted(tmp_path: Path) -> None:
    Forking.enabled = True
    measuring = Coverage(data_file=str(tmp_path / "data"), data_suffix=True, source=["trimpoint"])
    wanted = {client.MEASURED: measuring.config.serialize()}
    assert run("help", "undo", env=ENVIRONMENT | wanted).returncode == 0
    measuring.combine([str(tmp_path)])
    [measured] = (
        name for name in measuring.get_data().measured_files() if name.endswith("cli/main.py")
    )
    assert len(measuring.get_data().lines(measured) or ()) > 5


async def test_asyncio_waits_for_a_fork(forked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    forks: list[Any] = []
    fork = client._server.fork
    monkeypatch.setattr(client._server, "fork", lambda *asked: forks.append(asked) or fork(*asked))
    ended = await anyio.run_process([*COMMAND, "nonsense"], env=ENVIRONMENT, check=False)
    assert ended.returncode == 2
    assert b"There is no command" in ended.stderr
    assert bool(forks) == forked


def test_the_end_of_the_server_is_an_error_with_what_it_wrote() -> None:
    Forking.enabled = True
    assert run("--version").returncode == 0
    client._server._process.kill()
    client._server._process.wait()
    with pytest.raises(ForkServerError, match="ended with -9"):
        run("--version")
    assert run("--version").returncode == 0


def test_the_server_ends_with_the_process_that_started_it() -> None:
    program = (
        "from tests.forking.client import *\nfrom tests.forking import client\nForking.enabled = True\n"
        "import os, subprocess\n"
        "subprocess.run([*COMMAND, 'nonsense'], env=os.environ, stderr=subprocess.DEVNULL)\n"
        "print(client._server._process.pid, flush=True)\ninput()\n"
    )
    environment = ENVIRONMENT | {"PYTHONPATH": os.pathsep.join([str(ROOT), *SOURCES])}
    with subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
    ) as tester:
        assert tester.stdout is not None
        server = os.pidfd_open(int(tester.stdout.readline()))
        tester.kill()
    with open(server) as pidfd:
        assert select.select([pidfd], [], [], STEP_S)[0]
