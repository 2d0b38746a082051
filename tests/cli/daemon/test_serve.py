"""`trimpoint serve` starts, reports that, is found by commands, and ends cleanly in every way."""

import json
import os
import signal
import socket

import anyio
import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.transport.listeners import MAX_SOCKET_PATH_BYTES

from tests.cli.stage import CODEX, DEADLINE_S, CliHarness, Running, Terminal

pytestmark = pytest.mark.codex


async def with_child(stage: CliHarness) -> None:
    """Makes the daemon start its Codex."""
    async with connect(stage.socket) as client:
        await client.initialize()
        await client.request("thread/list")
    assert len(stage.codex_children()) == 1


async def test_serve_prints_its_socket_and_ends_with_its_child_on_sigterm(
    stage: CliHarness,
) -> None:
    async with stage.serving() as serve:
        assert f"listens on {stage.socket} (pid {serve.process.pid})" in serve.out
        await with_child(stage)
    assert stage.codex_children() == []
    assert not stage.socket.exists()
    last = json.loads(serve.err.splitlines()[-1])
    assert (last["event"], last["level"]) == ("stopped", "info")


async def test_sigint_twice_ends_it_as_cleanly_as_once(stage: CliHarness) -> None:
    async with stage.serving() as serve:
        await with_child(stage)
        serve.process.send_signal(signal.SIGINT)
        serve.process.send_signal(signal.SIGINT)
        assert await serve.ended() == 0
    assert stage.codex_children() == []
    assert "Traceback" not in serve.err


async def test_a_terminal_that_hangs_up_ends_it_with_its_child(
    stage: CliHarness, terminal: Terminal
) -> None:
    shell = ["setsid", "--ctty", "--wait", *stage.command("serve", *stage.flags)]
    process = await anyio.open_process(
        shell,
        stdin=terminal.fd,
        stdout=terminal.fd,
        stderr=terminal.fd,
        env=stage.environment,
        start_new_session=True,
    )
    async with process:
        await terminal.shows("listens on")
        await with_child(stage)
        os.close(terminal.fd)
        terminal.fd = -1
        terminal.hang_up()
        with anyio.fail_after(DEADLINE_S):
            assert await process.wait() == 0
    assert stage.codex_children() == []
    assert not stage.socket.exists()


async def test_a_daemon_under_nohup_outlives_its_terminal_and_still_ends_on_sigint(
    stage: CliHarness,
) -> None:
    # The shell of a script starts its background jobs with SIGINT ignored as well.
    shell = [
        "sh",
        "-c",
        "trap '' INT QUIT HUP; exec \"$@\"",
        "sh",
        *stage.command("serve", *stage.flags),
    ]
    async with await anyio.open_process(
        shell, env=stage.environment, cwd=stage.worktree
    ) as process:
        await _answers(stage)
        process.send_signal(signal.SIGHUP)
        assert (await stage.run("status")).code == 0
        process.send_signal(signal.SIGINT)
        with anyio.fail_after(DEADLINE_S):
            assert await process.wait() == 0


async def test_serve_survives_a_closed_output(stage: CliHarness) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    async with stage.running("serve", *stage.flags, stdout=theirs, stderr=theirs) as serve:
        os.close(theirs)
        await _answers(stage)
        await with_child(stage)
        serve.process.send_signal(signal.SIGTERM)
        assert await serve.ended() == 0
    assert stage.codex_children() == []


async def _answers(stage: CliHarness) -> None:
    """Waits until a daemon that cannot report its readiness answers."""
    with anyio.fail_after(DEADLINE_S):
        while (await stage.run("status")).code != 0:
            pass


async def test_shutdown_returns_when_daemon_and_child_are_gone(stage: CliHarness) -> None:
    async with stage.serving() as serve:
        await with_child(stage)
        done = await stage.run("shutdown", "--json")
        stopped = {"pid": serve.process.pid, "stopped": True, "interruptedThreads": []}
        assert (done.code, done.json()) == (0, stopped)
        assert stage.codex_children() == []
        assert await serve.ended() == 0
    gone = await stage.run("shutdown", "--json")
    assert (gone.code, gone.json()["stopped"]) == (0, False)


async def test_a_second_one_is_refused_in_two_lines_and_the_first_stays(stage: CliHarness) -> None:
    async with stage.serving() as first:
        second = await stage.run("serve", *stage.flags)
        assert second.code == 1
        assert second.err.splitlines()[0].endswith(
            f"the state directory is in use by process {first.process.pid}."
        )
        assert len(second.err.splitlines()) == 2
        elsewhere = await stage.run(
            "serve", "--state-dir", str(stage.folder / "other"), *stage.flags
        )
        assert elsewhere.code == 1
        assert f"{stage.socket}: another process is serving this socket" in elsewhere.err
        assert "Traceback" not in second.err + elsewhere.err
        assert (await stage.run("status")).code == 0


async def test_a_daemon_is_found_by_its_state_directory_alone(stage: CliHarness) -> None:
    place = stage.folder / "elsewhere" / "d.sock"
    async with stage.serving("--socket", str(place)):
        # Without a named socket: `TRIMPOINT_SOCKET` of the stage would be one.
        found = await stage.run(
            "status", "--json", TRIMPOINT_SOCKET="", XDG_RUNTIME_DIR=str(stage.folder)
        )
        assert (found.code, found.json()["daemon"]["stateDir"]) == (0, str(stage.state_dir))
    assert (
        await stage.run("status", TRIMPOINT_SOCKET="", XDG_RUNTIME_DIR=str(stage.folder))
    ).code == 4


@pytest.mark.each_case(reason="each row is another rule")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--socket", "/tmp/" + "x" * 120], f"at most {MAX_SOCKET_PATH_BYTES} are possible"),
        (["--state-dir", "/proc/nothing"], "/proc/nothing"),
        (["--state-dir", "/dev/null/state"], "/dev/null"),
        (["--codex", "/dev/null"], "cannot be used as Codex"),
    ],
)
async def test_serve_explains_unusable_settings_without_a_traceback(
    stage: CliHarness, words: list[str], said: str
) -> None:
    done = await stage.run("serve", *words)
    assert done.code == 1
    assert said in done.err
    assert "Traceback" not in done.err
    assert [line for line in done.err.splitlines() if line.startswith("trimpoint: ")]


async def test_a_state_directory_open_to_others_is_refused_with_what_to_do(
    stage: CliHarness,
) -> None:
    stage.state_dir.mkdir()
    stage.state_dir.chmod(0o777)
    done = await stage.run("serve", "--json")
    assert (done.code, done.json()["error"]["reason"]) == (1, "state_directory")
    assert "can be written to by others" in done.json()["error"]["message"]
    assert "0700" in done.json()["error"]["hint"]


async def test_serve_refuses_to_start_itself_as_codex(stage: CliHarness) -> None:
    done = await stage.run("stdio", TRIMPOINT_CHILD=f"{os.getpid()}-abc")
    assert done.code == 1
    assert "would start another in its turn" in done.err


async def test_readiness_is_reported_as_json_too(stage: CliHarness) -> None:
    async with stage.running("serve", "--json", *stage.flags) as serve:
        await serve.said("\n")
        ready = json.loads(serve.out)
        assert ready == {
            "listening": str(stage.socket),
            "pid": serve.process.pid,
            "stateDir": str(stage.state_dir),
        }
        await _stop(serve)


async def _stop(serve: Running) -> None:
    serve.process.send_signal(signal.SIGTERM)
    assert await serve.ended() == 0


async def test_sockets_without_a_listener_and_of_another_kind_are_distinguished(
    stage: CliHarness,
) -> None:
    stage.socket.parent.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as left_over:
        left_over.bind(str(stage.socket))
    assert (await stage.run("status")).code == 4
    file = stage.folder / "file"
    file.touch()
    assert (await stage.run("status", "--socket", str(file))).code == 4
    too_long = await stage.run("status", "--socket", "/tmp/" + "x" * 120)
    assert (too_long.code, "too long" in too_long.err) == (1, True)


async def test_a_daemon_that_is_left_running_lets_go_of_the_terminal(stage: CliHarness) -> None:
    begun = await stage.run("serve", "--background", *stage.flags, "--codex", str(CODEX))
    assert (begun.code, "in the background" in begun.out) == (0, True), begun.err
    [pid] = stage.background_daemons()
    assert os.readlink(f"/proc/{pid}/fd/2") == str(stage.state_dir / "daemon.log")
    assert os.getsid(pid) != os.getsid(0)
    again = await stage.run("serve", "--background", *stage.flags)
    assert (again.code, "A daemon runs already" in again.err) == (1, True)
    status = (await stage.run("daemon", "status", "--json")).json()["daemon"]
    assert (status["pid"], status["codex"]["overrides"]) == (pid, stage.overrides)
    assert (await stage.run("daemon", "shutdown")).code == 0
