"""Codex's trust of a folder: it is said when Codex writes it, shown, given and taken back by a
command, and no trim brings it back.
"""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client
from trimpoint.testkit import say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = [pytest.mark.codex, pytest.mark.own_daemon]


def repository(house: Harness, name: str) -> Path:
    folder = house.worktree / name
    folder.mkdir(exist_ok=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def trusted(house: Harness) -> dict[str, str]:
    """Returns what Codex's configuration says of folders."""
    file = house.codex_home / "config.toml"
    text = file.read_text() if file.exists() else ""
    return {
        path: one["trust_level"] for path, one in tomllib.loads(text).get("projects", {}).items()
    }


async def begun(client: Client, folder: Path, **params: Any) -> tuple[str, dict[str, Any]]:
    answer = await client.request("thread/start", cwd=str(folder), **params)
    return str(answer["thread"]["id"]), answer


async def typed(client: Client, thread_id: str, text: str) -> dict[str, Any]:
    return dict(await client.request("commands/execute", threadId=thread_id, text=text))


async def turn(house: Harness, client: Client, thread_id: str) -> None:
    house.script.then(say("apple-1."))
    heard = len(client.messages)
    words = [{"type": "text", "text": "one?"}]
    await client.request("turn/start", threadId=thread_id, input=words)
    await client.expect(lambda message: message.get("method") == "turn/completed", heard)


async def test_a_folder_that_codex_begins_to_trust_is_named_to_the_client(harness: Harness) -> None:
    folder = repository(harness, "shop")
    async with harness.daemon(), harness.client() as client:
        thread_id, _ = await begun(client, folder, sandbox="workspace-write")
        with anyio.fail_after(STEP_S):
            warned = await client.received("warning", threadId=thread_id)
        assert trusted(harness) == {str(folder): "trusted"}
        assert f"Codex trusts {folder} from now on" in warned["params"]["message"]
        assert "/trust no" in warned["params"]["message"]
        heard = len(client.messages)
        await begun(client, folder, sandbox="workspace-write")
        await begun(client, repository(harness, "garden"))
        later = [one.get("method") for one in client.messages[heard:]]
        assert "warning" not in later


async def test_trust_that_was_taken_back_is_not_brought_back_by_a_trim_or_a_fork(
    harness: Harness,
) -> None:
    folder = repository(harness, "shop")
    async with harness.daemon(), harness.client() as client:
        thread_id, _ = await begun(client, folder, sandbox="workspace-write")
        await turn(harness, client, thread_id)
        said = await typed(client, thread_id, "/trust no")
        assert (said["status"], said["undo"]) == ("completed", None)
        assert trusted(harness) == {}
        assert (await typed(client, thread_id, "/clear"))["status"] == "completed"
        await client.request("thread/fork", threadId=thread_id)
        assert trusted(harness) == {}


async def test_a_folder_that_becomes_a_repository_between_trims_is_not_trusted(
    harness: Harness,
) -> None:
    folder = harness.worktree / "shop"
    folder.mkdir()
    async with harness.daemon(), harness.client() as client:
        thread_id, _ = await begun(client, folder, sandbox="workspace-write")
        for number in range(2):
            await turn(harness, client, thread_id)
            assert (await typed(client, thread_id, "/clear"))["status"] == "completed"
            if number == 0:
                repository(harness, "shop")
        assert trusted(harness) == {}


async def test_the_command_shows_what_it_would_write_writes_it_and_takes_it_back(
    harness: Harness,
) -> None:
    folder = repository(harness, "a 'quoted' \"shop\"")
    (folder / "deep").mkdir()
    async with harness.daemon(), harness.client() as client:
        thread_id, answer = await begun(client, folder / "deep")
        assert answer["sandbox"]["type"] == "readOnly"
        shown = await typed(client, thread_id, "/trust")
        assert 'trust_level = "trusted"' in shown["message"]
        assert str(harness.codex_home / "config.toml") in shown["message"]
        assert [one["command"] for one in shown["hints"]] == ["/trust yes"]
        assert trusted(harness) == {}

        done = await typed(client, thread_id, "/trust yes")
        assert done["undo"] == "/trust no"
        assert trusted(harness) == {str(folder): "trusted"}
        assert (await begun(client, folder / "deep"))[1]["sandbox"]["type"] == "workspaceWrite"
        shown = await typed(client, thread_id, "/trust")
        assert [one["command"] for one in shown["hints"]] == ["/trust no"]

        await typed(client, thread_id, "/trust no")
        assert trusted(harness) == {}
        assert (await begun(client, folder / "deep"))[1]["sandbox"]["type"] == "readOnly"
        assert (await typed(client, thread_id, "/trust perhaps"))["status"] == "failed"


def with_linked_tree(folder: Path, linked: Path) -> None:
    """Adds a working tree to a repository."""
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "begin"], check=True)
    subprocess.run([*git, "worktree", "add", "-q", str(linked)], check=True)


async def test_a_linked_working_tree_is_trusted_by_its_repository(harness: Harness) -> None:
    folder = repository(harness, "shop")
    linked = harness.worktree / "linked"
    with_linked_tree(folder, linked)
    async with harness.daemon(), harness.client() as client:
        thread_id, _ = await begun(client, linked)
        await typed(client, thread_id, "/trust yes")
        assert trusted(harness) == {str(folder): "trusted"}
        assert (await begun(client, linked))[1]["sandbox"]["type"] == "workspaceWrite"
