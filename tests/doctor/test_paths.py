"""Places: the runtime folder, the state directory and the socket."""

import fcntl
import os
import socket
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from trimpoint.config.sections import Config
from trimpoint.doctor import (
    kernel,
    paths,
)
from trimpoint.doctor.checks import CHECKS
from trimpoint.doctor.findings import Installation, examine
from trimpoint.system import SYSTEM

from tests.doctor.stage import Machine, sole


def test_the_runtime_folder_is_there_ours_and_closed(machine: Machine) -> None:
    assert sole(paths.check_runtime_folder(machine.installation())).status == "ok"
    machine.make("runtime")
    named = machine.installation(XDG_RUNTIME_DIR=str(machine.folder / "runtime"))
    assert sole(paths.check_runtime_folder(named)).status == "ok"
    (machine.folder / "runtime").chmod(0o722)
    assert "can be written to by others (mode 0722)" in sole(paths.check_runtime_folder(named)).text


def test_a_state_directory_that_is_not_there_yet_is_well(machine: Machine) -> None:
    found = sole(paths.check_state_directory(machine.installation()))
    assert (found.status, found.facts["exists"], machine.state_dir.exists()) == ("ok", False, False)


def test_a_state_directory_that_cannot_be_made_is_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = sole(paths.check_state_directory(machine.installation()))
    assert (found.status, f"{machine.folder} cannot be written to" in found.text) == ("fail", True)
    monkeypatch.undo()
    machine.state_dir.touch()
    below = Installation(
        Config(), machine.folder, machine.state_dir / "in" / "it", machine.socket, {}, {}
    )
    assert f"{machine.state_dir} is not a folder" in sole(paths.check_state_directory(below)).text


def test_a_state_directory_is_ours_alone(machine: Machine) -> None:
    machine.make("state")
    assert sole(paths.check_state_directory(machine.installation())).status == "ok"
    machine.state_dir.chmod(0o770)
    found = sole(paths.check_state_directory(machine.installation()))
    assert (found.status, "mode 0770" in found.text, "chmod 700" in found.hint) == (
        "fail",
        True,
        True,
    )


def test_a_state_directory_of_someone_else_is_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("state")
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    found = sole(paths.check_state_directory(machine.installation()))
    assert (f"belongs to uid {owner}" in found.text, "chmod" in found.hint) == (True, False)


def test_root_with_a_users_state_directory_is_advised_to_run_as_that_user(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("state")
    facts = list(machine.state_dir.lstat())
    facts[stat.ST_UID] = 4242
    monkeypatch.setattr(Path, "lstat", lambda _: os.stat_result(facts))
    monkeypatch.setattr(Path, "stat", lambda _, **__: os.stat_result(facts))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    found = sole(paths.check_state_directory(machine.installation()))
    assert "You are root here: run trimpoint as uid 4242, without sudo." in found.hint


def test_a_file_in_the_place_of_the_state_directory_is_a_failure(machine: Machine) -> None:
    machine.state_dir.touch()
    found = sole(paths.check_state_directory(machine.installation()))
    assert ("is not a folder" in found.text, "Move it away" in found.hint) == (True, True)
    others = [check for check in CHECKS if check.name in {"journals", "daemon", "leftovers"}]
    results = examine(others, machine.installation())
    assert [result.finding.status for result in results] == ["ok", "ok", "ok"]


def test_a_state_directory_that_cannot_be_written_is_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("state")
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert "cannot be written to" in sole(paths.check_state_directory(machine.installation())).text


@pytest.mark.parametrize(
    ("free_bytes", "status"), [(10**12, "ok"), (100 * 1024**2, "warn"), (1024**2, "fail")]
)
def test_a_nearly_full_disk_is_reported(
    machine: Machine, free_bytes: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("state")
    real = os.statvfs(machine.state_dir)

    def statvfs(path: Any) -> os.statvfs_result:
        del path
        return os.statvfs_result((1, 1, real.f_blocks, free_bytes, free_bytes, 10, 10, 10, 0, 255))

    monkeypatch.setattr(os, "statvfs", statvfs)
    assert sole(paths.check_state_directory(machine.installation())).status == status


@pytest.mark.linux("looks at other processes")
def test_the_process_that_holds_the_state_directory_is_named(machine: Machine) -> None:
    machine.make("state")
    assert sole(paths.check_daemon(machine.installation())).facts == {"pid": None}
    with (machine.state_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = sole(paths.check_daemon(machine.installation()))
    assert found.facts == {"pid": os.getpid()}


def test_an_invisible_holder_of_the_lock_is_reported(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "lock_holders", lambda _: [0])
    assert "cannot be seen" in sole(paths.check_daemon(machine.installation())).text


def test_a_socket_path_too_long_is_a_failure(machine: Machine) -> None:
    long = Machine(machine.folder / ("x" * 120))
    assert (
        f"at most {SYSTEM.max_socket_path_bytes} are possible"
        in sole(paths.check_socket(long.installation())).text
    )


def test_a_socket_folder_open_to_others_is_a_failure(machine: Machine) -> None:
    machine.make("run")
    machine.socket.parent.chmod(0o777)
    assert "written to by others" in sole(paths.check_socket(machine.installation())).text


def listening(machine: Machine) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(machine.socket))
    sock.listen()
    return sock


@pytest.mark.linux("looks at other processes")
def test_the_check_names_what_is_in_the_sockets_place(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("run", "state")
    assert "no process listens" in sole(paths.check_socket(machine.installation())).text
    machine.socket.touch()
    assert sole(paths.check_socket(machine.installation())).status == "fail"
    machine.socket.unlink()
    with listening(machine) as sock:
        assert "perhaps systemd" in sole(paths.check_socket(machine.installation())).text
        sock.setblocking(False)
        with pytest.raises(
            BlockingIOError
        ):  # nobody had connected, which would have started a daemon
            sock.accept()
    found = sole(paths.check_socket(machine.installation()))
    assert (found.status, "left over" in found.text) == ("warn", True)


def test_a_socket_of_someone_else_is_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("run")
    with listening(machine):
        monkeypatch.setattr(paths, "_unsafe", lambda _: None)
        owner = os.geteuid()
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
        assert f"belongs to uid {owner}" in sole(paths.check_socket(machine.installation())).text


ANSWERS = [
    (
        b'{"id":1,"error":{"code":-32600,"message":"Not initialized","data":{"reason":"not_initialized"}}}\n',
        "ok",
        "the daemon answers",
    ),
    (b'{"id":1,"result":{}}\n', "fail", "is not a trimpoint daemon"),
    (b"HTTP/1.1 400 Bad Request\r\n", "fail", "no answer"),
    (b"", "fail", "no answer"),
]


@pytest.mark.processes
@pytest.mark.parametrize(("answer", "status", "words"), ANSWERS)
@pytest.mark.linux("looks at other processes")
def test_whether_the_daemon_answers_is_found_out_without_an_introduction(
    machine: Machine, answer: bytes, status: str, words: str
) -> None:
    machine.make("run", "state")
    server = "import socket, sys; c, _ = socket.socket(fileno=int(sys.argv[1])).accept(); c.recv(999); c.sendall(bytes.fromhex(sys.argv[2]))"
    with listening(machine) as sock, (machine.state_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with subprocess.Popen(
            [sys.executable, "-c", server, str(sock.fileno()), answer.hex()],
            pass_fds=[sock.fileno()],
        ):
            found = sole(paths.check_socket(machine.installation()))
    assert (found.status, words in found.text) == (status, True)


def test_a_daemon_that_hangs_is_a_failure(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(paths, "_ANSWER_WITHIN_S", 0.01)
    machine.make("run", "state")
    with listening(machine), (machine.state_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert "no answer within" in sole(paths.check_socket(machine.installation())).text


def test_a_daemon_without_its_socket_is_warned_of(machine: Machine) -> None:
    machine.make("state")
    with (machine.state_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert sole(paths.check_socket(machine.installation())).status == "warn"


def test_a_state_directory_of_another_machine_is_warned_of(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("state")
    monkeypatch.setattr(SYSTEM, "is_on_network", lambda _: True)
    findings = list(paths.check_state_directory(machine.installation()))
    assert [found.status for found in findings] == ["warn"]
    assert "another machine" in findings[0].text
