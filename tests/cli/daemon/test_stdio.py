"""`trimpoint stdio` and `app-server`: one client at stdin and stdout, and the daemon that they find
or start.
"""

import json
import os
import signal
import sys
from pathlib import Path
from subprocess import DEVNULL

import anyio
import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.testkit import held, say

from tests.cli.daemon.shells import INITIALIZE, shell
from tests.cli.stage import DEADLINE_S, CliHarness

pytestmark = pytest.mark.codex


async def test_a_daemon_started_for_one_client_serves_others_after_it(stage: CliHarness) -> None:
    async with shell(stage, *stage.flags, "app-server", "--listen", "stdio://") as first:
        thread = (await first.ask("thread/start", cwd=str(stage.worktree)))["result"]["thread"][
            "id"
        ]
        async with connect(stage.socket) as other:
            await other.initialize()
            status = await other.request("sidecar/status")
            assert [status["pid"]] == stage.background_daemons()
            assert status["codex"]["overrides"] == []
            assert status["profiles"][0]["overrides"] == stage.overrides
            assert await first.end() == 0
            await other.request("orchestration/snapshot", threadId=thread)
    assert {"daemon_started", "attached"} <= set(first.logged())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
async def test_a_signal_to_the_process_that_started_the_daemon_leaves_it_to_others(
    stage: CliHarness, number: signal.Signals
) -> None:
    async with (
        shell(stage, *stage.flags, "app-server") as first,
        shell(stage, "stdio", *stage.flags) as second,
    ):
        [pid] = stage.background_daemons()
        first.command.process.send_signal(number)
        assert await first.command.ended() == (-number if number == signal.SIGKILL else 0)
        assert (await second.ask("sidecar/status"))["result"]["pid"] == pid


async def test_a_turn_continues_without_the_client_that_began_it_and_the_daemon_waits_for_it(
    stage: CliHarness,
) -> None:
    stage.configure("[daemon]\nidle_exit_s = 0.1\n")
    release = anyio.Event()
    stage.script.then(held(say("done"), release))
    async with shell(stage, *stage.flags, "app-server") as client:
        thread = (await client.ask("thread/start", cwd=str(stage.worktree)))["result"]["thread"][
            "id"
        ]
        await client.ask("turn/start", threadId=thread, input=[{"type": "text", "text": "hello"}])
        await stage.model.wait_for_request()
        pids = stage.background_daemons()
        assert await client.end() == 0
    release.set()
    await stage.background_daemons_ended()
    assert len(pids) == 1
    assert stage.codex_children() == []
    assert "daemon_ready" in log_of(stage)
    exported = await stage.run("journal", "export")
    events = [json.loads(line) for line in exported.out.splitlines()]
    ended = [
        event["payload"]["status"] for event in events if event["type"] == "thread.turn-completed"
    ]
    assert ended == ["completed"]


def log_of(stage: CliHarness) -> str:
    """Returns the log of a background daemon."""
    return (stage.state_dir / "daemon.log").read_text()


async def test_a_daemon_that_nothing_uses_ends_with_its_codex_and_its_socket(
    stage: CliHarness,
) -> None:
    stage.configure("[daemon]\nidle_exit_s = 0.1\n")
    async with shell(stage, *stage.flags, "app-server") as client:
        assert await client.end() == 0
    await stage.background_daemons_ended()
    assert stage.background_daemons() == []
    assert stage.codex_children() == []
    assert not stage.socket.exists()
    assert '"asked_by": "no client, no work"' in log_of(stage)
    async with shell(stage, *stage.flags, "app-server") as again:
        assert "daemon_started" in again.logged()


async def test_a_daemon_in_the_background_holds_nothing_of_the_client_that_started_it(
    stage: CliHarness,
) -> None:
    async with shell(stage, *stage.flags, "app-server") as client:
        [pid] = stage.background_daemons()
        folder = Path(f"/proc/{pid}")
        places = {os.readlink(fd) for fd in (folder / "fd").iterdir() if fd.is_symlink()}
        starter = Path(f"/proc/{client.command.process.pid}")
        pipes = {os.readlink(starter / "fd" / number) for number in ("0", "1", "2")}
        assert {place for place in pipes if place.startswith("pipe")}.isdisjoint(places)
        assert os.readlink(folder / "fd" / "0") == os.readlink(folder / "fd" / "1") == "/dev/null"
        assert os.readlink(folder / "fd" / "2") == str(stage.state_dir / "daemon.log")
        assert os.readlink(folder / "cwd") == str(stage.folder / "home")
        assert os.getsid(pid) not in {os.getsid(0), os.getsid(client.command.process.pid)}
        assert f"PPid:\t{client.command.process.pid}\n" not in (folder / "status").read_text()
        assert (stage.state_dir / "daemon.log").stat().st_mode & 0o777 == 0o600


async def test_signals_that_the_starter_ignores_or_blocks_end_the_daemon_all_the_same(
    stage: CliHarness,
) -> None:
    command = [
        "bash",
        "-c",
        "trap '' TERM HUP INT; exec \"$@\"",
        "bash",
        *stage.command("stdio", *stage.flags),
    ]
    hello = json.dumps(INITIALIZE).encode() + b"\n"
    done = await anyio.run_process(command, env=stage.environment, cwd=stage.worktree, input=hello)
    assert done.returncode == 0
    assert len(stage.background_daemons()) == 1
    await stage.end_background_daemons()
    assert stage.background_daemons() == []


async def test_stdio_starts_a_daemon_of_its_state_directory_beside_another_at_the_default_socket(
    stage: CliHarness,
) -> None:
    usual = {"TRIMPOINT_SOCKET": "", "XDG_RUNTIME_DIR": str(stage.folder / "runtime")}
    place = str(stage.folder / "runtime" / "trimpoint" / "trimpoint.sock")
    async with stage.serving("--socket", place):
        other = ("--state-dir", str(stage.folder / "other"))
        done = await stage.run(
            "stdio", *other, *stage.flags, stdin=json.dumps(INITIALIZE).encode() + b"\n", **usual
        )
        assert (done.code, json.loads(done.out.splitlines()[0])["id"]) == (0, 1), done.err
        status = (await stage.run("status", *other, "--json", **usual)).json()
        assert status["daemon"]["stateDir"] == str(stage.folder / "other")


async def test_a_daemon_that_cannot_start_is_explained_to_the_client_that_needed_it(
    stage: CliHarness,
) -> None:
    stage.state_dir.mkdir()
    stage.state_dir.chmod(0o777)
    done = await stage.run("stdio", *stage.flags, stdin=json.dumps(INITIALIZE).encode() + b"\n")
    assert (done.code, "can be written to by others" in done.err) == (1, True)
    assert "can be written to by others" in json.loads(done.out)["error"]["message"]
    await stage.background_daemons_ended()


async def test_a_daemon_that_breaks_at_its_start_points_to_its_log(stage: CliHarness) -> None:
    broken = stage.folder / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import sys\nif '--background' in sys.orig_argv: sys.exit('broken on purpose')\n"
    )
    path = os.pathsep.join([str(broken), stage.environment["PYTHONPATH"]])
    done = await stage.run("stdio", stdin=json.dumps(INITIALIZE).encode() + b"\n", PYTHONPATH=path)
    assert done.code == 1
    assert "ended before it was ready" in done.err
    assert str(stage.state_dir / "daemon.log") in done.err


async def test_stdio_joins_a_running_daemon_and_shares_its_threads(stage: CliHarness) -> None:
    async with stage.serving() as serve, shell(stage, "stdio") as joined:
        assert (await joined.ask("sidecar/status"))["result"]["pid"] == serve.process.pid
        thread = (await joined.ask("thread/start", cwd=str(stage.worktree)))["result"]["thread"][
            "id"
        ]
        async with connect(stage.socket) as other:
            await other.initialize()
            await other.request("thread/resume", threadId=thread)
            await joined.ask(
                "turn/start", threadId=thread, input=[{"type": "text", "text": "hello"}]
            )
            await other.received("turn/completed")
            await joined.command.said("turn/completed")
        assert await joined.end() == 0
        assert "attached" in joined.logged()
        assert (await stage.run("status")).code == 0


async def test_a_client_that_ends_its_input_still_gets_the_answers_it_is_owed(
    stage: CliHarness,
) -> None:
    asked = json.dumps(INITIALIZE) + "\n" + json.dumps({"id": 2, "method": "thread/list"}) + "\n"
    async with stage.serving():
        done = await stage.run("stdio", stdin=asked.encode())
    answers = [json.loads(line) for line in done.out.splitlines()]
    assert (done.code, [answer["id"] for answer in answers if "id" in answer]) == (0, [1, 2])


async def test_those_that_start_at_the_same_moment_share_one_daemon(stage: CliHarness) -> None:
    pids: list[int] = []

    async def start() -> None:
        async with shell(stage, *stage.flags, "app-server") as client:
            pids.append((await client.ask("sidecar/status"))["result"]["pid"])
            assert await client.end() == 0

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(start)
    # The others find the lock of the state directory taken, and end.
    await stage.background_daemons_ended(*pids)
    assert [*set(pids)] == stage.background_daemons()
    assert len(pids) == 3


async def test_a_daemon_that_ends_ends_those_who_joined_with_a_word(stage: CliHarness) -> None:
    async with stage.serving() as serve, shell(stage, "stdio") as joined:
        serve.process.send_signal(signal.SIGTERM)
        assert await joined.command.ended() == 4
    assert "has ended" in joined.command.err


async def test_without_a_stdin_it_says_so(stage: CliHarness) -> None:
    command = ["bash", "-c", 'exec 0<&-; exec "$@"', "bash", *stage.command("stdio")]
    done = await anyio.run_process(command, env=stage.environment, check=False, stdin=DEVNULL)
    assert (done.returncode, b"file descriptor 0: is closed" in done.stderr) == (1, True)


async def test_subcommands_of_app_server_are_run_by_codex(stage: CliHarness) -> None:
    folder = stage.folder / "schema"
    done = await stage.run(
        "-c", "a=1", "app-server", "generate-json-schema", "--experimental", "--out", str(folder)
    )
    assert done.code == 0, done.err
    assert (folder / "v2" / "TurnStartParams.json").is_file()


CONVERSATION = """
import json, sys
from openai_codex import Codex
from openai_codex.client import CodexConfig
with Codex(CodexConfig(codex_bin=sys.argv[1], config_overrides=tuple(sys.argv[2:]))) as codex:
    thread = codex.thread_start()
    result = thread.run("Good morning.")
    print(json.dumps([codex.metadata.userAgent, thread.id, result.final_response]))
"""


async def test_the_official_python_sdk_runs_a_turn_through_it_unchanged(stage: CliHarness) -> None:
    pytest.importorskip("openai_codex")
    launcher = stage.folder / "trimpoint"
    launcher.write_text("#!/bin/bash\nexec " + " ".join(stage.command('"$@"')) + "\n")
    launcher.chmod(0o755)
    stage.script.then(say("Good day."))
    command = [sys.executable, "-c", CONVERSATION, str(launcher), *stage.overrides]
    with anyio.fail_after(DEADLINE_S):
        done = await anyio.run_process(
            command, env=stage.environment, cwd=stage.worktree, check=False
        )
    assert done.returncode == 0, done.stderr.decode()
    user_agent, thread_id, said = json.loads(done.stdout)
    assert (user_agent.startswith("codex_python_sdk/"), len(thread_id), said) == (
        True,
        36,
        "Good day.",
    )
