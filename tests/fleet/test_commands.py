"""Commands from another machine, with a whole daemon and the real Codex: dispatch, receipts and
refusals are those of a local client. The model's next input proves a clear.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import FleetSection
from trimpoint.fleet.commands.asking import HostAway, ask, person_of
from trimpoint.fleet.commands.requests import FleetCommand
from trimpoint.fleet.hub.connection import Hub, connected
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.names import Names
from trimpoint.fleet.reading import hosts
from trimpoint.fleet.roles import Role
from trimpoint.fleet.setup import HubFolder, Members, Node
from trimpoint.testkit import held, say

from tests.deadlines import SCENARIO_S, STEP_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import seen_turns
from tests.fleet.servers import Server, running_server
from tests.fleet.stage import HOST, make_streams, place, until

pytestmark = pytest.mark.codex
TEAM = Names("team")
MEMBERS = ((Role.HOST, HOST), (Role.OPERATOR, "alice"), (Role.VIEWER, "bob"))


class Team:
    """A hub with permissions, and a daemon that belongs to it."""

    def __init__(self, server: Server, folder: HubFolder, harness: Harness) -> None:
        self.server, self.folder, self.harness = server, folder, harness
        harness.config = msgspec.structs.replace(
            harness.config,
            fleet=FleetSection(
                servers=(server.url,), tenant="team", host=HOST,
                credentials=str(folder.credentials_path("team", Role.HOST, HOST)),
            ),
        )  # fmt: skip

    @asynccontextmanager
    async def person(self, role: Role, name: str) -> AsyncGenerator[Hub]:
        path = self.folder.credentials_path("team", role, name)
        assert person_of(path) == name
        async with connected(place(self.server.url, name, path)) as hub:
            yield hub

    async def online(self, hub: Hub) -> None:
        with anyio.fail_after(STEP_S):
            while not await hosts(hub, TEAM):  # noqa: ASYNC110
                await anyio.sleep(0.1)


@pytest.fixture
async def team(tmp_path: Path) -> AsyncGenerator[Team]:
    folder = HubFolder(tmp_path / "hub")
    list(folder.add(Members("team", MEMBERS), (Node("server", "127.0.0.1"),), "127.0.0.1"))
    conf = tmp_path / "hub" / "server.conf"
    async with running_server(tmp_path / "hub", conf=conf) as server, opened_harness() as harness:
        await make_streams(
            server.url, TEAM, 1, folder.credentials_path("team", Role.ADMIN, "admin")
        )
        yield Team(server, folder, harness)


def asked_by(events: list[dict[str, Any]], kind: str) -> list[str | None]:
    return [event["askedBy"] for event in events if event["type"] == kind]


async def test_an_operator_clears_a_thread_once_and_the_journal_says_who_asked(team: Team) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with (
            team.harness.conversation() as talk,
            team.person(Role.OPERATOR, "alice") as alice,
        ):
            await talk.client.request("orchestration/subscribeThread", threadId=talk.thread_id)
            for _ in range(3):
                await talk.turn()
            await team.online(alice)
            command = FleetCommand(talk.thread_id, "clear-1", keep=1)
            first = await ask(alice, TEAM, HOST, "alice", "clear", command)
            assert first.outcome is not None, first
            assert first.outcome.status == "completed"
            again = await ask(alice, TEAM, HOST, "alice", "clear", command)
            assert again.outcome is not None
            assert again.outcome.status == "completed"
            other = await ask(
                alice, TEAM, HOST, "alice", "clear", FleetCommand(talk.thread_id, "clear-1", keep=2)
            )
            assert (other.kind, other.reason) == ("refused", "command_id_conflict")
            assert seen_turns(await talk.turn(), 3) == [3]
            events = [
                message["params"] for message in talk.notifications
                if message.get("method") == "orchestration/event"
            ]  # fmt: skip
    assert asked_by(events, "thread.trim-point-created") == ["alice"]
    assert set(asked_by(events, "thread.turn-started")) == {None}


async def test_a_busy_thread_refuses_and_an_interrupt_ends_its_turn(team: Team) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with (
            team.harness.conversation() as talk,
            team.person(Role.OPERATOR, "alice") as alice,
            anyio.create_task_group() as tasks,
        ):
            await talk.client.request("orchestration/subscribeThread", threadId=talk.thread_id)
            await talk.turn()
            await team.online(alice)
            talk.script.then(held(say("never"), anyio.Event()))
            ended: list[str] = []

            async def prompt() -> None:
                ended.append((await talk.prompt("Work for ever."))["status"])

            asked = len(talk.model.requests)
            tasks.start_soon(prompt)
            await until(lambda: len(talk.model.requests) > asked)
            busy = await ask(
                alice, TEAM, HOST, "alice", "clear", FleetCommand(talk.thread_id, "clear-2")
            )
            assert busy.outcome is not None, busy
            assert busy.outcome.status == "skipped"
            assert busy.outcome.reason == "turn_in_progress"
            stopped = await ask(
                alice, TEAM, HOST, "alice", "interrupt", FleetCommand(talk.thread_id, "stop-1")
            )
            assert stopped.outcome is not None, stopped
            assert stopped.outcome.status == "completed"
            await until(lambda: bool(ended))
            assert ended == ["interrupted"]
            [asked_for] = [
                message["params"]["payload"]
                for message in talk.notifications
                if message.get("method") == "orchestration/event"
                and message["params"]["type"] == "thread.turn-interrupt-requested"
            ]
            assert asked_for["askedBy"] == "alice"


async def test_an_interrupt_ends_a_compaction(team: Team) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with (
            team.harness.conversation() as talk,
            team.person(Role.OPERATOR, "alice") as alice,
            anyio.create_task_group() as tasks,
        ):
            await talk.turn()
            await team.online(alice)
            talk.script.at_compaction(held(say("never"), anyio.Event()))
            ended: list[str] = []

            async def compact() -> None:
                ended.append(str((await talk.type("/compact --force"))["status"]))

            tasks.start_soon(compact)
            await until(lambda: any(one.kind != "turn" for one in talk.model.requests))
            stopped = await ask(
                alice, TEAM, HOST, "alice", "interrupt", FleetCommand(talk.thread_id, "stop-2")
            )
            assert stopped.outcome is not None, stopped
            assert stopped.outcome.message == "The compaction was cancelled."
            await until(lambda: bool(ended))
            assert ended == ["cancelled"]
            assert (await talk.turn()).mentions("prompt-1.")


async def test_a_viewer_is_refused_and_a_host_that_is_away_is_reported_to_be(team: Team) -> None:
    command = FleetCommand("01900000-0000-7000-8000-000000000001", "clear-3", deadline_s=5)
    async with team.person(Role.OPERATOR, "alice") as alice, team.person(Role.VIEWER, "bob") as bob:
        with pytest.raises(HostAway) as away:
            await ask(alice, TEAM, HOST, "alice", "clear", command)
        assert away.value.is_known
        for person in ("bob", "alice"):
            with pytest.raises(HubFailed, match="permissions violation"):
                await ask(bob, TEAM, HOST, person, "clear", command)
