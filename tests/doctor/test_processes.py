"""Processes: what is left over, and who else holds threads."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from trimpoint.codex.appserver.orphans import record_child
from trimpoint.doctor import (
    kernel,
    processes,
)

from tests.doctor.stage import LOCKER, Machine, sole


@pytest.mark.processes
@pytest.mark.linux("looks at other processes")
def test_a_child_without_its_daemon_is_a_leftover(machine: Machine) -> None:
    machine.make("state")
    assert sole(processes.check_orphans(machine.installation())).facts["records"] == 0
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(
        ["/bin/cat"], env={"TRIMPOINT_CHILD": "1-abc"}, bufsize=0, **pipes
    ) as child:
        # Its echo proves that it runs: for an instant after the exec, the kernel shows no
        # environment yet.
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(b"x")
        child.stdout.read(1)
        record_child(machine.state_dir, "key", pid=child.pid, mark="1-abc", codex=Path("/codex"))
        found = sole(processes.check_orphans(machine.installation()))
        assert (found.status, found.facts["running"], f"kill {child.pid}" in found.hint) == (
            "warn",
            [child.pid],
            True,
        )
        with (machine.state_dir / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert sole(processes.check_orphans(machine.installation())).status == "ok"
        child.kill()
    assert "have ended" in sole(processes.check_orphans(machine.installation())).text
    assert list(machine.state_dir.glob("child-*"))


@pytest.mark.processes
@pytest.mark.linux("looks at other processes")
def test_another_codex_that_holds_threads_is_named_without_its_arguments(machine: Machine) -> None:
    installation = machine.installation()
    assert [
        finding for finding in processes.check_other_daemons(installation) if finding.status != "ok"
    ] == []
    machine.make("codex-home", "codex-home/thread-writer-locks")
    lock = machine.folder / "codex-home" / "thread-writer-locks" / "t-1.lock"
    (lock.parent / ".coordination.lock").touch()
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, str(lock), "-c", "key=sk-secret"], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        [found] = [
            finding
            for finding in processes.check_other_daemons(installation)
            if finding.status == "warn"
        ]
        holder.kill()
    assert found.facts == {"pid": holder.pid, "threads": ["t-1"]}
    assert "holds 1 thread" in found.text
    assert "secret" not in str(found)


def test_another_trimpoint_is_seen(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    running = [
        kernel.Process(7, ("/venv/bin/python", "/venv/bin/trimpoint", "serve")), kernel.Process(8, ("python", "-m", "trimpoint", "serve")),
        kernel.Process(9, ("vi", "trimpoint")), kernel.Process(10, ("python", "/venv/bin/trimpoint", "status")),
    ]  # fmt: skip
    monkeypatch.setattr(kernel, "own_processes", lambda: running)
    assert [
        finding.facts["pid"] for finding in processes.check_other_daemons(machine.installation())
    ] == [7, 8]


@pytest.mark.linux("looks at other processes")
def test_own_processes_are_seen_and_described_by_program_and_command_alone() -> None:
    assert (
        kernel.Process(1, ("/x/codex", "app-server", "-c", "k=sk-secret")).label
        == "codex app-server"
    )
    assert kernel.Process(1, ("/x/codex", "--key=secret")).label == "codex"
    as_module = ("/x/python3", "-P", "-m", "trimpoint", "serve", "--background")
    assert kernel.Process(1, as_module).label == "trimpoint serve"
    assert kernel.Process(1, ("python", "/x/bin/trimpoint", "serve")).label == "trimpoint serve"
    assert kernel.Process(1, ("python", "-c", "secret")).label == "python -c"
    assert os.getpid() in [process.pid for process in kernel.own_processes()]
    assert kernel.process(2**22 + 1) is None
