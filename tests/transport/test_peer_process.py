"""Which processes may be clients. What needs a Codex is in
`tests/e2e/daemon/test_agents_as_clients.py`.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager

import pytest
from trimpoint.system import SYSTEM
from trimpoint.system.port import ProcessFacts
from trimpoint.transport import peer_process
from trimpoint.transport.peer_process import (
    ENDED,
    Distrust,
    ancestor_among,
    confinement,
    distrust_of,
    distrust_of_peer,
)

CONNECTS = """
import socket, sys
sock = socket.socket(socket.AF_UNIX)
sock.connect(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


def test_the_process_itself_may_be_a_client() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert distrust_of_peer(ours) is None


def test_a_process_that_is_not_in_this_pid_namespace_may_not_be_a_client() -> None:
    found = distrust_of(0)
    assert found is not None
    assert "another pid namespace" in found.why


@pytest.mark.linux("looks at other processes")
def test_a_process_that_proc_does_not_show_may_not_be_a_client() -> None:
    found = distrust_of(2**22 + 1)
    assert found is not None
    assert "cannot be looked at" in found.why


@pytest.mark.linux("looks at other processes")
def test_the_nearest_wanted_ancestor_is_found() -> None:
    assert ancestor_among(os.getpid(), {os.getppid(), 1}) == os.getppid()
    assert ancestor_among(os.getpid(), {2**22 + 1}) is None


def test_a_parent_that_began_after_its_child_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def facts(pid: int) -> ProcessFacts:
        return ProcessFacts(7, 100) if pid == 9 else ProcessFacts(1, 200)

    monkeypatch.setattr(SYSTEM, "facts", facts)
    with pytest.raises(ProcessLookupError):
        ancestor_among(9, {1})


@contextmanager
def connected(*launcher: str) -> Generator[tuple[socket.socket, "subprocess.Popen[bytes]"]]:
    """Yields the server's end of a connection of another process, and that process."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0trimpoint-test-{os.getpid()}")
        listener.listen()
        command = [
            *launcher,
            sys.executable,
            "-c",
            CONNECTS.replace("sys.argv[1]", repr(listener.getsockname().decode())),
        ]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        with process, process.stdin, process.stdout, listener.accept()[0] as sock:
            assert process.stdout.readline() == b"\n"
            yield sock, process


@pytest.mark.processes
def test_a_program_of_the_person_may_be_a_client() -> None:
    with connected() as (sock, _):
        assert distrust_of_peer(sock) is None


@pytest.mark.processes
@pytest.mark.parametrize(
    ("launcher", "why"),
    [
        (["unshare", "--user", "--map-current-user"], "another user namespace"),
        (["unshare", "--user", "--map-current-user", "--pid", "--fork"], "another pid namespace"),
        (["setpriv", "--no-new-privs"], "no_new_privs"),
    ],
)
@pytest.mark.linux("looks at other processes")
def test_a_confined_program_may_not_be_a_client(launcher: list[str], why: str) -> None:
    with connected(*launcher) as (sock, _):
        found = distrust_of_peer(sock)
    assert found is not None
    assert why in found.why
    assert found.kind == "confined"


@pytest.mark.processes
@pytest.mark.linux("looks at other processes")
def test_a_program_that_has_ended_may_not_be_a_client() -> None:
    with connected() as (sock, process):
        process.communicate()
        assert distrust_of_peer(sock) == ENDED


@pytest.mark.processes
@pytest.mark.linux("looks at other processes")
def test_a_program_below_a_codex_of_ours_is_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    with connected("sh", "-c", '"$@"; :', "sh") as (sock, process):
        monkeypatch.setattr(peer_process, "RUNNING_CHILDREN", {process.pid})
        found = distrust_of_peer(sock)
    assert isinstance(found, Distrust)
    assert found.kind == "agent"


def test_a_process_is_not_more_confined_than_itself() -> None:
    assert confinement(os.getpid()) is None
