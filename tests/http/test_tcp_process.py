"""Which process is at the other end of a TCP connection. What needs a Codex is in
`tests/e2e/daemon/test_agents_as_clients.py`.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import NamedTuple

import pytest
from trimpoint.http import tcp_process
from trimpoint.http.tcp_process import TcpProcesses
from trimpoint.system import SYSTEM
from trimpoint.transport.client_stream import Endpoints
from trimpoint.transport.peer_process import ENDED


class Pair(NamedTuple):
    client: socket.socket
    endpoints: Endpoints


@contextmanager
def connected(family: int = socket.AF_INET, host: str = "127.0.0.1") -> Generator[Pair]:
    with socket.socket(family) as listener, socket.socket() as client:
        listener.bind((host, 0))
        listener.listen()
        client.connect(("127.0.0.1", listener.getsockname()[1]))
        with listener.accept()[0] as served:
            peer, ours = served.getpeername()[:2], served.getsockname()[:2]
            yield Pair(client, Endpoints(peer, ours))


def found_of(endpoints: Endpoints) -> object:
    return TcpProcesses().distrust_of(endpoints)


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")]
)
def test_a_program_of_the_person_is_found_and_trusted(family: int, host: str) -> None:
    with connected(family, host) as pair:
        assert found_of(pair.endpoints) is None


def test_a_client_that_has_closed_its_end_is_gone() -> None:
    with connected() as pair:
        pair.client.close()
        assert found_of(pair.endpoints) == ENDED


def test_nothing_is_known_of_a_client_on_another_machine() -> None:
    assert found_of(Endpoints(("192.0.2.1", 4711), ("192.0.2.2", 80))) is None


def test_another_user_is_distinguished_from_this_one_and_from_root(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with connected() as pair:
        row = SYSTEM.tcp_end(pair.endpoints.peer, pair.endpoints.ours)
        assert row is not None
        for uid, kind in ((0, None), (os.geteuid() + 4711, "user")):
            monkeypatch.setattr(SYSTEM, "tcp_end", lambda *_, uid=uid: row._replace(uid=uid))
            found = TcpProcesses().distrust_of(pair.endpoints)
            assert (found.kind if found is not None else None) == kind


@pytest.fixture
def unseen(monkeypatch: pytest.MonkeyPatch) -> Generator[Endpoints]:
    """Yields a connection of a program that cannot be looked into."""
    monkeypatch.setattr(tcp_process, "_PAUSE_S", 0)
    monkeypatch.setattr(TcpProcesses, "_holder", lambda *_: None)
    with connected() as pair:
        yield pair.endpoints


def test_a_program_that_hides_itself_is_trusted_where_no_agent_can_be_it(
    unseen: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found_of(unseen) is None
    monkeypatch.setattr(tcp_process, "_agents", lambda: frozenset({os.getpid()}))
    assert found_of(unseen) is None


def test_a_program_that_hides_itself_is_not_trusted_while_an_agent_does(
    unseen: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tcp_process, "_agents", lambda: frozenset({4711}))
    monkeypatch.setattr(SYSTEM, "hides_files", lambda pid: pid == 4711)
    found = TcpProcesses().distrust_of(unseen)
    assert found is not None
    assert found.kind == "agent"


def test_a_program_that_hides_itself_is_not_trusted_while_agents_come_and_go(
    unseen: Endpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    pids = iter(range(1, 1000))
    monkeypatch.setattr(tcp_process, "_agents", lambda: frozenset({next(pids)}))
    monkeypatch.setattr(SYSTEM, "hides_files", lambda _: False)
    assert found_of(unseen) is not None
