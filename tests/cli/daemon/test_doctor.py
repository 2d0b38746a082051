"""`trimpoint doctor` with the real Codex: before, beside and after a daemon."""

import os
import signal
from pathlib import Path

import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.threads.catalogue import FILE_NAME as CATALOGUE

from tests.cli.stage import CliHarness, Ended

pytestmark = pytest.mark.codex
MARKER = "SECRET-WORDS-OF-A-CONVERSATION"


def statuses(done: Ended) -> dict[str, str]:
    return {finding["check"]: finding["status"] for finding in done.json()["findings"]}


def texts(done: Ended, check: str) -> str:
    return " ".join(
        finding["text"] + finding["hint"]
        for finding in done.json()["findings"]
        if finding["check"] == check
    )


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    """Returns the times and sizes of all files, except those that a running Codex changes by
    itself, and the catalogue, which the daemon writes some time after a change.
    """
    stable = [
        path for path in folder.rglob("*") if "sqlite" not in path.name and path.name != CATALOGUE
    ]
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in stable}


@pytest.mark.linux("looks at other processes")
async def test_doctor_reports_a_running_daemon_without_secrets_and_changes_nothing(
    stage: CliHarness,
) -> None:
    before = await stage.run("doctor", "--json")
    assert (
        before.code,
        statuses(before)["daemon"],
        "no process listens" in texts(before, "socket"),
    ) == (0, "ok", True)
    assert not stage.state_dir.exists()
    async with stage.serving() as serve:
        async with connect(stage.socket) as client:
            await client.initialize()
            thread_id = await stage.thread(client)
            await stage.turn(client, thread_id, MARKER)
            was = tree(stage.state_dir) | tree(stage.codex_home / "sessions")
            done = await stage.run(
                "doctor", "--json", "-c", f"model_providers.x.http_headers.Authorization={MARKER}"
            )
            assert tree(stage.state_dir) | tree(stage.codex_home / "sessions") == was
        assert done.code == 0, done.out
        assert f"pid {serve.process.pid}" in texts(done, "daemon")
        assert "the daemon answers" in texts(done, "socket")
        assert texts(done, "journals") == "1 thread, all whole"
        assert str(stage.codex_children()[0]) in texts(done, "leftovers")
        assert "holds" not in texts(done, "other daemons"), "the daemon's own Codex is no other"
        assert MARKER not in done.out + done.err
        assert "model_providers.x.http_headers.Authorization" in done.out, (
            "overrides are named, for their values may be keys"
        )


async def test_a_killed_daemons_socket_is_stale_and_it_is_told_what_to_do(
    stage: CliHarness,
) -> None:
    async with stage.serving() as serve:
        async with connect(stage.socket) as client:
            await client.initialize()
            await client.request(
                "thread/list"
            )  # so that nothing is on its way when the connection is given up
        os.kill(serve.process.pid, signal.SIGKILL)
        await serve.ended()
    done = await stage.run("doctor")
    assert done.code == 0
    assert "is left over: no process listens there" in done.out.replace("\n", " ").replace(
        "                    ", ""
    )
    assert "→ The next daemon replaces it." in done.out


async def test_a_codex_outside_that_holds_a_thread_is_found(stage: CliHarness) -> None:
    async with stage.daemon() as client:
        thread_id = await stage.thread(client)
        await stage.turn(client, thread_id, "hello")
        # Seen from another state directory, that daemon's Codex is a stranger.
        done = await stage.run(
            "doctor",
            "--json",
            "--state-dir",
            str(stage.folder / "other"),
            CODEX_HOME=str(stage.codex_home),
        )
        assert statuses(done)["other daemons"] == "warn"
        assert "codex app-server" in texts(done, "other daemons")
        assert "holds 1 thread" in texts(done, "other daemons")


async def test_a_bad_configuration_does_not_keep_it_from_looking(stage: CliHarness) -> None:
    config = stage.folder / "config.toml"
    config.write_text("[limits]\nmax_client = 3\n")
    done = await stage.run("doctor", "--json", "--config", str(config))
    assert (done.code, statuses(done)["configuration"]) == (1, "fail")
    assert "Did you mean 'max_clients'?" in texts(done, "configuration")
    assert statuses(done)["codex"] == "ok"
