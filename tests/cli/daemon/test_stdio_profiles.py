"""Clients of `trimpoint stdio` and `app-server` that want a Codex of another configuration."""

import json
from contextlib import AsyncExitStack

import pytest
from trimpoint.cli.connection.client import connect
from trimpoint.testkit import throwaway_codex_home

from tests.cli.daemon.shells import CLIENT, INITIALIZE, Shell, shell
from tests.cli.stage import CliHarness

pytestmark = pytest.mark.codex


async def test_clients_that_want_another_codex_get_it_from_the_same_daemon(
    stage: CliHarness,
) -> None:
    async with throwaway_codex_home() as home, stage.serving() as serve:
        other_home = {**stage.environment, "CODEX_HOME": str(home)}
        async with (
            shell(stage, "stdio") as plain,
            shell(stage, "-c", 'model="other"', "app-server") as other,
            stage.running("stdio", env=other_home) as command,
        ):
            elsewhere = Shell(command)
            answer = await elsewhere.ask("initialize", clientInfo={"name": "shell", "version": "1"})
            await elsewhere.send({"method": "initialized"})
            for client in (plain, other, elsewhere):
                await client.turn(stage.worktree)
            status = (await plain.ask("sidecar/status"))["result"]
        models = [request.body["model"] for request in stage.model.turn_requests()]
        shown = await stage.run("status")
    assert status["pid"] == serve.process.pid
    assert answer["result"]["codexHome"] == str(home)
    assert models[1] == "other" != models[0] == models[2]
    assert len(status["profiles"]) == 2
    assert "with -c for model" in shown.out
    assert str(home) in shown.out.replace("\n", "").replace(" ", "")


async def test_a_client_gets_its_own_home_whoever_started_the_daemon(stage: CliHarness) -> None:
    own = stage.folder / "home" / ".codex"
    without = {name: value for name, value in stage.environment.items() if name != "CODEX_HOME"}
    (stage.folder / "elsewhere").mkdir()
    moved = {**without, "HOME": str(stage.folder / "elsewhere")}
    homes: list[str] = []
    async with AsyncExitStack() as stack:
        for environment in (stage.environment, without, moved):
            command = await stack.enter_async_context(stage.running("stdio", env=environment))
            answer = await Shell(command).ask("initialize", clientInfo=CLIENT)
            homes.append(answer["result"]["codexHome"])
        plain = await stack.enter_async_context(connect(stage.socket))
        await plain.initialize("test")
    assert homes == [str(stage.codex_home), str(own), str(stage.folder / "elsewhere" / ".codex")]
    assert plain.codex_home == str(own)


async def test_a_configured_home_is_that_of_clients_that_name_none(stage: CliHarness) -> None:
    stage.configure(f'[codex]\nhome = "{stage.codex_home}"\n')
    without = {name: value for name, value in stage.environment.items() if name != "CODEX_HOME"}
    async with stage.running("stdio", env=without) as starter:
        answer = await Shell(starter).ask("initialize", clientInfo=CLIENT)
        async with connect(stage.socket) as plain:
            await plain.initialize("test")
            own_home = plain.codex_home
    assert answer["result"]["codexHome"] == str(stage.folder / "home" / ".codex")
    assert own_home == str(stage.codex_home)


async def test_a_client_that_speaks_in_content_length_frames_gets_its_own_codex_too(
    stage: CliHarness,
) -> None:
    hello = json.dumps(INITIALIZE).encode()
    framed = b"Content-Length: %d\r\n\r\n%b" % (len(hello), hello)
    async with stage.serving():
        done = await stage.run("stdio", "-c", 'model="other"', stdin=framed)
        profiles = (await stage.run("status", "--json")).json()["daemon"]["profiles"]
    assert done.code == 0, done.err
    assert done.out.startswith("Content-Length: ")
    assert '"id":1,"result"' in done.out
    assert [profile["overrides"] for profile in profiles] == [['model="other"']]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["stdio", "--codex", "/no/such/codex"], "there is no such file"),
        (["stdio", "--state-dir", "another"], "another process is serving this socket"),
    ],
)
async def test_a_client_that_cannot_be_served_is_refused_in_its_first_answer(
    stage: CliHarness, words: list[str], said: str
) -> None:
    async with stage.serving():
        done = await stage.run(*words, stdin=json.dumps(INITIALIZE).encode() + b"\n")
        assert done.code == 1
        assert said in done.err
        answer = json.loads(done.out)
        assert (answer["id"], said in answer["error"]["message"]) == (1, True)
        assert "Traceback" not in done.err
        assert (await stage.run("status", "--json")).json()["daemon"]["codex"][
            "overrides"
        ] == stage.overrides


async def test_too_many_codex_configurations_are_refused_in_the_first_answer(
    stage: CliHarness,
) -> None:
    stage.configure("[codex]\nmax_profiles = 0\n")
    async with stage.serving():
        done = await stage.run(
            "stdio", "-c", 'model="other"', stdin=json.dumps(INITIALIZE).encode() + b"\n"
        )
    error = json.loads(done.out)["error"]
    assert error["data"]["reason"] == "too_many_profiles"
    assert "max_profiles" in error["data"]["hint"]


async def test_the_same_overrides_join(stage: CliHarness) -> None:
    async with stage.serving(), shell(stage, *stage.flags, "app-server") as joined:
        assert await joined.end() == 0
        assert "attached" in joined.logged()
