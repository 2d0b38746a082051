"""Clients with their own Codex configurations, side by side in one daemon, with the real Codex.

The model's requests prove that each client gets its own: the model's name, the instructions, and
the version that sent the request.
"""

import os
import signal
import uuid
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.cli.connection.client import Client, RemoteError, connect
from trimpoint.codex.appserver.experimental import experimental_api
from trimpoint.testkit import ModelRequest, held, say, throwaway_codex_home

from tests.deadlines import STEP_S
from tests.e2e.codex.sub_agents import replies_of_both
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.wire import connect_socket
from tests.e2e.worktree import with_repository

pytestmark = [pytest.mark.codex, pytest.mark.never_restarted]

# The binary of another version, to run beside the usual one.
OTHER_CODEX_VARIABLE = "TRIMPOINT_TEST_OTHER_CODEX"
OTHER_MODEL = {"overrides": ['model="other"', 'developer_instructions="Say it in Frisian."']}


@asynccontextmanager
async def client_of(harness: Harness, asked: dict[str, Any]) -> AsyncGenerator[Client]:
    """Yields a client with its own launch request."""
    async with connect(harness.socket) as client:
        await client.request("sidecar/useProfile", **asked)
        await client.initialize("test")
        yield client


@asynccontextmanager
async def talking(harness: Harness, asked: dict[str, Any]) -> AsyncGenerator[Conversation]:
    async with client_of(harness, asked) as client:
        yield await Conversation.begin(client, harness.worktree, harness.model, harness.script)


async def resumed(client: Client, talk: Conversation) -> Conversation:
    await client.request("thread/resume", threadId=talk.thread_id)
    again = Conversation(client, talk.thread_id, talk.model, talk.script)
    again.turns = talk.turns
    return again


def with_config(home: Path, words: str) -> None:
    (home / "AGENTS.md").write_text(words)


def is_frisian(request: ModelRequest) -> bool:
    assert (request.body["model"] == "other") == request.mentions("Say it in Frisian.")
    return request.body["model"] == "other"


async def thread_of(client: Client, talk: Conversation) -> dict[str, Any]:
    listed = (await client.request("orchestration/snapshot"))["threads"]
    return next(dict(row) for row in listed if row["id"] == talk.thread_id)


async def status_of(client: Client) -> dict[str, Any]:
    return dict(await client.request("sidecar/status"))


async def test_two_clients_each_get_the_overrides_that_they_asked_for(harness: Harness) -> None:
    with_repository(harness.worktree)
    async with (
        harness.daemon(),
        talking(harness, {}) as plain,
        talking(harness, OTHER_MODEL) as own,
    ):
        requests = [await talk.turn() for talk in (plain, own, plain, own)]
        for talk in (plain, own):
            assert (await talk.type("/clear 1"))["status"] == "completed"
        requests += [await talk.turn() for talk in (plain, own)]
        for talk in (plain, own):
            assert (await talk.type("/compact"))["status"] == "completed"
        requests += [await talk.turn() for talk in (plain, own)]
        for talk in (plain, own):
            outcome = await talk.type("/revert 3")
            assert outcome["status"] == "completed", outcome
        requests += [await talk.turn() for talk in (plain, own)]
        status = await status_of(plain.client)
    assert [is_frisian(request) for request in requests] == [False, True] * 5
    assert [seen_turns(request, 5) for request in requests[4:6]] == [[2, 3], [2, 3]]
    assert [seen_turns(request, 5) for request in requests[8:]] == [[2, 3, 5], [2, 3, 5]]
    (profile,) = status["profiles"]
    assert profile["overrides"] == OTHER_MODEL["overrides"]
    assert (profile["clients"], profile["threads"]) == (1, 1)
    assert profile["codex"]["state"] == "connected"
    assert profile["codex"]["epoch"] == status["codex"]["epoch"] == 1


async def test_two_clients_each_get_the_home_that_they_asked_for(harness: Harness) -> None:
    async with throwaway_codex_home() as home, harness.daemon():
        with_config(harness.codex_home, "The daemon's own home.")
        with_config(home, "Another home.")
        async with (
            talking(harness, {}) as plain,
            talking(harness, {"codexHome": str(home)}) as own,
        ):
            requests = [await talk.turn() for talk in (plain, own)]
            for talk in (plain, own):
                assert (await talk.type("/clear"))["status"] == "completed"
            requests += [await talk.turn() for talk in (plain, own)]
            listed = [
                [row["id"] for row in (await talk.client.request("thread/list"))["data"]]
                for talk in (plain, own)
            ]
            codex_home = own.client.codex_home
        rollouts = list(home.glob("sessions/**/*.jsonl"))
    assert [request.mentions("Another home.") for request in requests] == [False, True] * 2
    assert [request.mentions("The daemon's own home.") for request in requests] == [True, False] * 2
    assert listed == [[plain.thread_id], [own.thread_id]]
    assert Path(codex_home) == home
    assert rollouts


async def test_two_clients_each_get_the_binary_that_they_asked_for(
    harness: Harness, tmp_path: Path
) -> None:
    launcher = tmp_path / "launcher"
    program = harness.profile.codex
    launcher.write_text(f'#!/bin/sh\nexec {program} "$@" -c model=\\"launched\\"\n')
    launcher.chmod(0o755)
    other = os.environ.get(OTHER_CODEX_VARIABLE) or str(launcher)
    async with (
        harness.daemon(),
        talking(harness, {}) as plain,
        talking(harness, {"codex": other}) as own,
    ):
        requests = [await talk.turn() for talk in (plain, own)]
        for talk in (plain, own):
            assert (await talk.type("/compact --force"))["status"] == "completed"
        requests += [await talk.turn() for talk in (plain, own)]
        status = await status_of(plain.client)
    (profile,) = status["profiles"]
    assert profile["codex"]["path"] == other
    if os.environ.get(OTHER_CODEX_VARIABLE):
        versions = [status["codex"]["version"], profile["codex"]["version"]]
        assert versions[0] != versions[1]
        assert [
            [version in request.headers["user-agent"] for version in versions]
            for request in requests
        ] == [[True, False], [False, True]] * 2
    else:
        assert [request.body["model"] == "launched" for request in requests] == [False, True] * 2


async def test_a_thread_keeps_its_configuration_whoever_speaks_to_it_and_after_restarts(
    harness: Harness,
) -> None:
    async with harness.daemon(), talking(harness, OTHER_MODEL) as own:
        await own.turn()
        async with client_of(harness, {}) as plain:
            joined = await resumed(plain, own)
            by_others = await joined.turn()
        new = (await own.type("/new"))["newThreadId"]
    async with harness.daemon(), client_of(harness, {}) as plain:
        await plain.request("thread/unarchive", threadId=own.thread_id)
        again = await resumed(plain, joined)
        after_restart = await again.turn()
        assert (await again.type("/clear 1"))["status"] == "completed"
        successor = Conversation(plain, new, harness.model, harness.script)
        await plain.request("thread/resume", threadId=new)
        by_successor = await successor.turn()
        fork = (await plain.request("thread/fork", threadId=own.thread_id))["thread"]["id"]
        by_fork = await Conversation(plain, fork, harness.model, harness.script).turn()
        fresh = await Conversation.begin(plain, harness.worktree, harness.model, harness.script)
        by_fresh = await fresh.turn()
    assert [
        is_frisian(request)
        for request in (by_others, after_restart, by_successor, by_fork, by_fresh)
    ] == [True, True, True, True, False]
    assert seen_turns(after_restart, 3) == [1, 2, 3]


@pytest.mark.linux("several recorded processes")
async def test_a_codex_that_is_killed_takes_no_other_with_it(harness: Harness) -> None:
    async with (
        harness.daemon(),
        talking(harness, {}) as plain,
        talking(harness, OTHER_MODEL) as own,
    ):
        await plain.turn()
        await own.turn()
        (profile,) = (await status_of(plain.client))["profiles"]
        go_on = anyio.Event()
        harness.script.then(held(say("answer-2."), go_on))
        own.turns = 2
        prompt = [{"type": "text", "text": "prompt-2."}]
        after = len(own.client.messages)
        await own.client.request("turn/start", threadId=own.thread_id, input=prompt)
        os.kill(harness.child_pid(profile["profile"]), signal.SIGKILL)
        with anyio.fail_after(STEP_S):
            ended = await own.client.expect(
                lambda message: message.get("method") == "turn/completed", after
            )
        go_on.set()
        undisturbed = await plain.turn()
        await own.until_codex_answers()
        back = await own.turn()
        status = await status_of(plain.client)
    assert ended["params"]["turn"]["status"] == "interrupted"
    assert not any(
        message.get("method") == "turn/completed" and message["params"]["threadId"] == own.thread_id
        for message in plain.client.messages
    )
    assert seen_turns(undisturbed, 2) == [1, 2]
    assert is_frisian(back)
    assert (status["codex"]["epoch"], status["profiles"][0]["codex"]["epoch"]) == (1, 2)


async def test_an_operation_that_a_daemon_left_open_continues_with_its_own_codex(
    harness: Harness,
) -> None:
    async with harness.daemon(), talking(harness, OTHER_MODEL) as own:
        for _ in range(2):
            await own.turn()
        summary = anyio.Event()
        harness.script.at_compaction(held(say("A summary."), summary))
        own.client.begin("commands/execute", threadId=own.thread_id, text="/compact")
        with anyio.fail_after(STEP_S):
            await harness.model.wait_for_request(lambda request: request.kind != "turn")
    summary.set()
    async with harness.daemon(), client_of(harness, {}) as plain:
        with anyio.fail_after(STEP_S):
            while (await thread_of(plain, own))["busy"] is not None:
                await anyio.lowlevel.checkpoint()
        (profile,) = (await status_of(plain))["profiles"]
        again = await resumed(plain, own)
        request = await again.turn()
    assert profile["overrides"] == OTHER_MODEL["overrides"]
    assert is_frisian(request)
    assert seen_turns(request, 3) == [1, 2, 3]


async def test_a_configuration_that_nothing_needs_ends_and_starts_again(harness: Harness) -> None:
    codex = msgspec.structs.replace(harness.config.codex, profile_idle_s=0.05, max_profiles=1)
    harness.config = msgspec.structs.replace(harness.config, codex=codex)
    async with harness.daemon(), client_of(harness, {}) as plain:
        async with talking(harness, OTHER_MODEL) as own:
            await own.turn()
            with pytest.raises(RemoteError) as refused:
                async with client_of(harness, {"overrides": ['model="third"']}):
                    pass
            still_there = await own.turn()
        with anyio.fail_after(STEP_S):
            while (await status_of(plain))["profiles"]:
                await anyio.lowlevel.checkpoint()
        async with talking(harness, {"overrides": ['model="third"']}) as third:
            by_third = await third.turn()
        again = await resumed(plain, own)
        request = await again.turn()
    assert refused.value.reason == "too_many_profiles"
    assert "max_profiles" in refused.value.data["hint"]
    assert is_frisian(still_there)
    assert by_third.body["model"] == "third"
    assert is_frisian(request)
    assert seen_turns(request, 3) == [1, 2, 3]


async def test_equal_profiles_share_a_codex(harness: Harness) -> None:
    same = {
        "overrides": harness.overrides,
        "codex": str(harness.profile.codex),
        "codexHome": str(harness.codex_home),
    }
    async with harness.daemon(), client_of(harness, same) as one, client_of(harness, {}) as two:
        await one.request("thread/list")
        await two.request("thread/list")
        status = await status_of(one)
    assert status["profiles"] == []
    assert status["codex"]["epoch"] == 1


async def test_a_home_is_kept_with_the_thread_unless_it_is_the_usual_one(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    usual = tmp_path / ".codex"
    usual.symlink_to(harness.codex_home)
    is_kept: list[bool] = []
    for home in (tmp_path, tmp_path / "elsewhere"):
        monkeypatch.setenv("HOME", str(home))
        async with harness.daemon(), talking(harness, {"codexHome": str(usual)}) as talk:
            await talk.turn()
        files = harness.state_dir.rglob(f"*{talk.thread_id}*")
        journal = b"".join(path.read_bytes() for path in files if path.is_file())
        assert talk.thread_id.encode() in journal
        is_kept.append(b"codexHome" in journal)
    assert is_kept == [False, True]


async def test_broadcasts_of_a_codex_reach_only_clients_of_its_profile(
    harness: Harness,
) -> None:
    async with (
        harness.daemon(),
        talking(harness, {}) as plain,
        talking(harness, OTHER_MODEL) as own,
    ):
        await plain.turn()
        await own.turn()
    heard = {
        message["params"]["thread"]["id"] if "thread" in message["params"] else None
        for message in plain.client.messages
        if message.get("method") == "thread/started"
    }
    assert heard == {plain.thread_id}
    assert not any(own.thread_id in str(message) for message in plain.client.messages)


async def test_the_thread_of_a_sub_agent_is_found_with_the_codex_that_runs_it(
    harness: Harness,
) -> None:
    async with (
        throwaway_codex_home() as home,
        harness.daemon(),
        client_of(harness, {}) as plain,
        talking(harness, {"codexHome": str(home)}) as own,
    ):
        own.script.then(*replies_of_both(say("the sub-agent's answer")))
        with anyio.fail_after(STEP_S):
            await own.prompt("prompt-1.")
            called = await own.client.expect(names_an_agent)
        (agent,) = called["params"]["item"]["receiverThreadIds"]
        with anyio.fail_after(STEP_S):  # before its first call of the model it has no meter
            await own.client.received("thread/tokenUsage/updated", threadId=agent)
        read = await plain.request("thread/read", threadId=agent)
        meter = await plain.request("context/status", threadId=agent)
        with pytest.raises(RemoteError):
            await plain.request("thread/read", threadId=str(uuid.uuid4()))
    assert read["thread"]["id"] == agent
    assert meter["threadId"] == agent


def names_an_agent(message: dict[str, Any]) -> bool:
    item = message.get("params", {}).get("item", {})
    return message.get("method") == "item/completed" and bool(item.get("receiverThreadIds"))


async def test_a_sample_of_a_thread_with_another_codex_can_be_cancelled(harness: Harness) -> None:
    if "thread/sample/cancel" not in (await experimental_api(harness.profile)).methods:
        pytest.skip("this Codex cannot cancel a sample")
    release = anyio.Event()
    async with (
        harness.daemon(),
        talking(harness, OTHER_MODEL) as own,
        connect_socket(harness.socket) as plain,
    ):
        await own.turn()
        await plain.initialize()
        read = await plain.result("thread/read", threadId=own.thread_id, includeTurns=True)
        harness.script.then(held(say("sampled"), release))
        newest = read["thread"]["turns"][-1]["id"]
        sample = {"threadId": own.thread_id, "expectedTurnId": newest, "prompt": "sample-prompt."}
        await plain.send({"id": "started", "method": "thread/sample", "params": sample})
        with anyio.fail_after(STEP_S):
            await harness.model.wait_for_request(lambda request: request.mentions("sample-prompt."))
        await plain.result("thread/sample/cancel", requestId="started")
        assert (await plain.answer_to("started"))["error"]["message"] == "sample canceled"
        release.set()


@pytest.mark.each_case(reason="each row is another rule")
@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"codex": "/no/such/codex"}, "invalid_params"),
        ({"codexHome": "relative"}, "invalid_params"),
        ({"overrides": ["no value"]}, "invalid_params"),
    ],
)
async def test_an_invalid_profile_is_refused_with_a_reason(
    harness: Harness, asked: dict[str, Any], reason: str
) -> None:
    async with harness.daemon():
        with pytest.raises(RemoteError) as refused:
            async with client_of(harness, asked):
                pass
        async with client_of(harness, {}) as client:
            with pytest.raises(RemoteError) as late:
                await client.request("sidecar/useProfile", **OTHER_MODEL)
    assert refused.value.reason == reason
    assert late.value.reason == "already_initialized"
