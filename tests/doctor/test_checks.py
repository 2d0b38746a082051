"""Tests each check against an installation made for it. Of Codex, only `--version` is run."""

import fcntl
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import anyio
import msgspec
import pytest
from trimpoint.codex.appserver.orphans import record_child
from trimpoint.config.loading import parse_config
from trimpoint.config.sections import Config, LimitsSection
from trimpoint.doctor import (
    checkpoints,
    codex,
    configuration,
    environment,
    kernel,
    paths,
    processes,
)
from trimpoint.doctor.checks import CHECKS
from trimpoint.doctor.findings import Check, Finding, Installation, examine, max_severity, ok, warn
from trimpoint.journal import framing
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.service import units
from trimpoint.threads.catalogue import FILE_NAME, ThreadSummary, encode_catalogue
from trimpoint_protocol.locations import HomeUnknown


class Machine(NamedTuple):
    folder: Path

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "t.sock"

    def installation(
        self,
        config: Config | None = None,
        text: str = "",
        flags: dict[str, str] | None = None,
        **environ: str,
    ) -> Installation:
        path = self.folder / "config.toml"
        if text:
            path.write_text(text)
            config = parse_config(text, str(path))
        home = {
            "HOME": str(self.folder / "home"),
            "CODEX_HOME": str(self.folder / "codex-home"),
            "PATH": str(self.folder / "bin"),
        }
        return Installation(
            config or Config(), path, self.state_dir, self.socket, home | environ, flags or {}
        )

    def make(self, *names: str) -> None:
        for name in names:
            (self.folder / name).mkdir(mode=0o700)


@pytest.fixture
def machine() -> Iterator[Machine]:
    with TemporaryDirectory(prefix="tp") as folder:
        yield Machine(Path(folder))


def sole(findings: Iterator[Finding]) -> Finding:
    [finding] = findings
    assert finding.status == "ok" or finding.hint, (
        "whoever is told what is wrong is told what to do"
    )
    return finding


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


# --- configuration
# -------------------------------------------------------------------------------------------------------


def test_each_value_has_its_origin_and_secrets_stay_hidden(machine: Machine) -> None:
    text = '[codex]\noverrides = ["provider.bearer=sk-secret"]\n[limits]\nmax_clients = 7\n[log]\nlevel = "debug"\n'
    found = sole(
        configuration.check(
            machine.installation(text=text, TRIMPOINT_LOG="error", flags={"codex.path": "/named"})
        )
    )
    settings: dict[str, Any] = found.facts["settings"]
    assert settings["limits.max_clients"] == {
        "value": 7,
        "origin": str(machine.folder / "config.toml"),
    }
    assert settings["log.level"]["origin"] == "TRIMPOINT_LOG"
    assert settings["codex.path"] == {"value": "/named", "origin": "flag"}
    assert settings["compaction.min_messages"] == {"value": 6, "origin": "default"}
    assert settings["state_dir"] == {"value": str(machine.state_dir), "origin": "default"}
    assert settings["codex.overrides"]["value"] == ["provider.bearer=…"]
    assert "sk-secret" not in str(found)


def test_a_file_that_cannot_be_used_is_a_failure_with_its_own_words(machine: Machine) -> None:
    broken = machine.installation()
    broken = Installation(
        broken.config,
        broken.config_path,
        broken.state_dir,
        broken.socket,
        {},
        {},
        "config.toml:3: unknown key.",
    )
    found = sole(configuration.check(broken))
    assert (found.status, found.text) == ("fail", "config.toml:3: unknown key.")


# --- Codex
# ---------------------------------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "status", "words"),
    [
        ("echo codex-cli 0.163.0", "ok", "0.163.0"),
        ("echo codex-cli 0.132.9", "fail", "too old"),
        ("echo codex-cli 9.0.0-alpha.1", "warn", "newer than what was tested"),
        ("echo nothing of use", "fail", "does not say its version"),
        ("exit 1", "fail", "does not say its version"),
    ],
)
def test_the_version_is_compared_with_those_that_were_tested(
    machine: Machine, script: str, status: str, words: str
) -> None:
    path = program(machine.folder / "bin", "codex", script)
    found = sole(codex.check(machine.installation()))
    assert (found.status, found.facts["path"], found.facts["source"]) == (status, str(path), "path")
    assert words in found.text


@pytest.mark.processes
def test_codex_is_not_given_a_home_to_write_to(machine: Machine) -> None:
    program(
        machine.folder / "bin",
        "codex",
        f'echo "$CODEX_HOME" > {machine.folder}/home-given; echo codex-cli 0.163.0',
    )
    sole(codex.check(machine.installation()))
    assert not Path((machine.folder / "home-given").read_text().strip()).exists()


@pytest.mark.processes
def test_a_codex_that_hangs_or_cannot_run_is_not_waited_for(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codex, "_VERSION_DEADLINE_S", 0.01)
    program(machine.folder / "bin", "codex", "exec sleep 60")
    assert sole(codex.check(machine.installation())).status == "fail"
    (machine.folder / "bin" / "codex").write_bytes(b"\x7fELF nonsense")
    assert sole(codex.check(machine.installation())).status == "fail"


def test_a_named_codex_that_is_none_is_said(machine: Machine) -> None:
    for installation in (
        machine.installation(flags={"codex.path": "/nowhere"}),
        machine.installation(text='[codex]\npath = "/nowhere"\n'),
    ):
        found = sole(codex.check(installation))
        assert (found.status, "/nowhere cannot be used as Codex" in found.text) == ("fail", True)


@pytest.mark.parametrize(
    ("auth", "mode", "status", "words"),
    [
        (None, 0o600, "warn", "no login"),
        ('{"OPENAI_API_KEY": "sk-secret", "tokens": null}', 0o600, "ok", "with an API key"),
        ('{"tokens": {"access_token": "ey-secret"}}', 0o600, "ok", "with ChatGPT"),
        ('{"tokens": {"access_token": "ey-secret"}}', 0o644, "warn", "others may read it"),
        ('{"OPENAI_API_KEY": null}', 0o600, "warn", "no login that is known"),
        ("half a fi-secret", 0o600, "warn", "cannot be read"),
    ],
)
def test_the_login_is_told_and_nothing_of_it_shown(
    machine: Machine, auth: str | None, mode: int, status: str, words: str
) -> None:
    machine.make("codex-home")
    if auth is not None:
        (machine.folder / "codex-home" / "auth.json").write_text(auth)
        (machine.folder / "codex-home" / "auth.json").chmod(mode)
    found = sole(codex.check_login(machine.installation()))
    assert (found.status, words in found.text) == (status, True)
    assert "secret" not in str(found)


def test_without_a_named_home_codex_has_its_usual_one(machine: Machine) -> None:
    installation = machine.installation(CODEX_HOME="")
    assert installation.codex_home == machine.folder / "home" / ".codex"


@pytest.mark.parametrize("is_forbidden", [True, False])
def test_a_system_without_user_namespaces_is_warned_of(
    machine: Machine, is_forbidden: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    values = {"user.max_user_namespaces": "0"} if is_forbidden else {}
    monkeypatch.setattr(codex, "_sysctl", values.get)
    assert sole(codex.check_sandbox(machine.installation())).status == (
        "warn" if is_forbidden else "ok"
    )


# --- places
# --------------------------------------------------------------------------------------------------------------


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


def test_root_with_the_state_directory_of_a_user_is_told_to_be_that_user(
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
def test_a_disk_that_fills_up_is_told_in_time(
    machine: Machine, free_bytes: int, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.make("state")
    real = os.statvfs(machine.state_dir)

    def statvfs(path: Any) -> os.statvfs_result:
        del path
        return os.statvfs_result((1, 1, real.f_blocks, free_bytes, free_bytes, 10, 10, 10, 0, 255))

    monkeypatch.setattr(os, "statvfs", statvfs)
    assert sole(paths.check_state_directory(machine.installation())).status == status


def test_the_process_that_holds_the_state_directory_is_named(machine: Machine) -> None:
    machine.make("state")
    assert sole(paths.check_daemon(machine.installation())).facts == {"pid": None}
    with (machine.state_dir / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = sole(paths.check_daemon(machine.installation()))
    assert found.facts == {"pid": os.getpid()}


def test_a_holder_that_cannot_be_seen_is_said_to_be_one(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "lock_holders", lambda _: [0])
    assert "cannot be seen" in sole(paths.check_daemon(machine.installation())).text


def test_a_socket_path_too_long_is_a_failure(machine: Machine) -> None:
    long = Machine(machine.folder / ("x" * 120))
    assert "at most 107 are possible" in sole(paths.check_socket(long.installation())).text


def test_a_socket_folder_open_to_others_is_a_failure(machine: Machine) -> None:
    machine.make("run")
    machine.socket.parent.chmod(0o777)
    assert "written to by others" in sole(paths.check_socket(machine.installation())).text


def listening(machine: Machine) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX)
    sock.bind(str(machine.socket))
    sock.listen()
    return sock


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


# --- processes
# -----------------------------------------------------------------------------------------------------------


@pytest.mark.processes
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


LOCKER = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"


@pytest.mark.processes
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


# --- surroundings
def test_root_is_warned(monkeypatch: pytest.MonkeyPatch, machine: Machine) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert sole(environment.check_user(machine.installation())).status == "warn"
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    assert "uid 4242" in sole(environment.check_user(machine.installation())).text


def test_without_a_home_folder_a_check_says_so_and_the_others_go_on(machine: Machine) -> None:
    def homeless(_: Installation) -> Iterator[Finding]:
        raise HomeUnknown
        yield

    [result] = examine((Check("a", homeless),), machine.installation())
    assert (result.finding.status, result.finding.hint) == ("fail", "Set HOME.")


#
# --------------------------------------------------------------------------------------------------------


@pytest.mark.processes
@pytest.mark.parametrize(
    ("script", "status"),
    [
        ("echo git version 2.39.5", "ok"),
        ("echo git version 2.24.1", "warn"),
        ("echo gibberish", "warn"),
        (None, "warn"),
    ],
)
def test_git_is_new_enough_or_there_are_no_checkpoints(
    machine: Machine, script: str | None, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script is not None:
        program(machine.folder / "bin", "git", script)
    monkeypatch.setenv("PATH", str(machine.folder / "bin"))
    assert sole(environment.check_git(machine.installation())).status == status


@pytest.mark.processes
def test_a_git_that_cannot_run_is_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    program(machine.folder / "bin", "git", "").write_bytes(b"\x7fELF nonsense")
    monkeypatch.setenv("PATH", str(machine.folder / "bin"))
    assert "does not run" in sole(environment.check_git(machine.installation())).text


def test_journals_that_cannot_be_continued_are_counted(machine: Machine) -> None:
    assert sole(environment.check_journals(machine.installation())).text == "no threads"
    machine.make("state", "state/threads")
    threads = machine.state_dir / "threads"
    (threads / "foreign.journal").write_bytes(b"something else entirely, and long enough")
    (threads / "torn.journal").write_bytes(framing.encode_header()[:3])
    found = sole(environment.check_journals(machine.installation()))
    assert (found.status, found.facts["readOnly"], found.facts["threads"]) == ("warn", 1, 2)
    (threads / "foreign.journal").unlink()
    assert sole(environment.check_journals(machine.installation())).status == "ok"


@pytest.mark.processes
def test_checkpoints_are_counted_by_repository(machine: Machine) -> None:
    look: Callable[[], Finding] = lambda: sole(checkpoints.check(machine.installation()))  # noqa: E731
    assert look().text == "none yet"
    machine.make("tree")
    tree = machine.folder / "tree"
    for words in (
        ("init", "-q"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"),
    ):
        subprocess.run(["git", *words], cwd=tree, check=True)
    anyio.run(
        _write_catalogue,
        machine.state_dir,
        ThreadSummary("one", 0, 1, [], [], None, str(tree), False, 0, 0, False, None),
    )
    assert look().text == "none yet"
    for thread in ("one", "gone"):
        subprocess.run(
            ["git", "update-ref", f"refs/trimpoint/checkpoints/{thread}/turn", "HEAD"],
            cwd=tree,
            check=True,
        )
    found = look()
    assert (found.status, found.facts["refs"], found.facts["stray"], found.facts["diskBytes"]) == (
        "ok",
        2,
        1,
        0,
    )
    assert "--prune" in found.hint
    subprocess.run(
        ["git", "update-ref", "-d", "refs/trimpoint/checkpoints/gone/turn"], cwd=tree, check=True
    )
    assert (look().hint, look().facts["refs"]) == ("", 1)


async def _write_catalogue(state_dir: Path, *threads: ThreadSummary) -> None:
    await StateDirectory(state_dir).write_atomic(FILE_NAME, encode_catalogue(list(threads)))


def test_more_clients_than_descriptors_are_warned_of(machine: Machine) -> None:
    assert sole(environment.check_descriptors(machine.installation())).status == "ok"
    config = msgspec.structs.replace(Config(), limits=LimitsSection(max_clients=10**9))
    assert sole(environment.check_descriptors(machine.installation(config))).status == "warn"


def test_the_units_are_told_apart(machine: Machine) -> None:
    installation = machine.installation()
    look: Callable[[], Finding] = lambda: sole(environment.check_service(installation))  # noqa: E731
    assert look().text == "not installed"
    folder = units.unit_folder(installation.environ)
    units.install(folder, units.rendered(["/bin/true"], None, {}))
    assert "installed" in look().text
    (folder / units.SERVICE).write_text("[Service]\n")
    assert "did not write" in look().text
    (folder / units.SERVICE).unlink()
    assert look().status == "fail"


# --- all of them
# ---------------------------------------------------------------------------------------------------------


def test_a_check_that_cannot_look_is_a_failure_and_not_the_end(machine: Machine) -> None:
    def cannot(_: Installation) -> Iterator[Finding]:
        yield ok("so far")
        raise PermissionError(13, "Permission denied", "/secret/place")

    results = examine(
        (Check("a", cannot), Check("b", lambda _: [warn("odd", "do")])), machine.installation()
    )
    assert [(result.check, result.finding.status) for result in results] == [
        ("a", "fail"),
        ("b", "warn"),
    ]
    assert "/secret/place Permission denied" in results[0].finding.text
    assert (max_severity(results), max_severity(results[1:]), max_severity([])) == (
        "fail",
        "warn",
        "ok",
    )


@pytest.mark.processes
def test_looking_at_everything_changes_nothing(machine: Machine) -> None:
    machine.make("state", "run", "codex-home", "home")
    program(machine.folder / "bin", "codex", "echo codex-cli 0.163.0")
    before = _tree(machine.folder)
    results = examine(CHECKS, machine.installation())
    assert {result.check for result in results} == {check.name for check in CHECKS}
    assert _tree(machine.folder) == before


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")
    }
