"""The fleet as a daemon shows it to its own clients, and a host's refusals of commands, with a real
server with permissions. The page's test has the commands that are executed.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
import pytest
from trimpoint.config.sections import FleetSection
from trimpoint.core.model import events as ev
from trimpoint.fleet.commands import answering
from trimpoint.fleet.commands.requests import FleetAnswer
from trimpoint.fleet.hub.connection import Hub, connected
from trimpoint.fleet.hub.errors import HubFailed
from trimpoint.fleet.names import Names, bucket_stream
from trimpoint.fleet.reading import threads
from trimpoint.fleet.roles import Role
from trimpoint.fleet.setup import HubFolder, Members, Node
from trimpoint.fleet.viewing import PersonsView
from trimpoint.gateway.methods.extension.fleet_methods import NoFleet
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol.shapes import fleet as f

from tests.deadlines import STEP_S
from tests.fleet.servers import Server, running_server
from tests.fleet.stage import HOST, THREAD, Desk, desk, make_streams, place, section, until
from tests.ports import free_port

pytestmark = pytest.mark.processes
# What the test holds a message back from.
READING = "_reading"
TEAM = Names("team")
MEMBERS = ((Role.HOST, HOST), (Role.OPERATOR, "alice"), (Role.VIEWER, "bob"))


class Team(NamedTuple):
    """A hub with permissions, and a machine `desk` with one thread."""

    server: Server
    folder: HubFolder
    one: Desk

    def section(self, person: Role | None, name: str = "") -> FleetSection:
        path = self.folder.credentials_path
        return section(
            self.server.url, "here", tenant="team",
            credentials=str(path("team", Role.HOST, HOST)),
            person_credentials=str(path("team", person, name)) if person is not None else None,
        )  # fmt: skip

    @asynccontextmanager
    async def alice(self) -> AsyncGenerator[Hub]:
        path = self.folder.credentials_path("team", Role.OPERATOR, "alice")
        async with connected(place(self.server.url, "alice", path)) as hub:
            yield hub


@pytest.fixture
async def team(tmp_path: Path) -> AsyncGenerator[Team]:
    folder = HubFolder(tmp_path / "hub")
    list(folder.add(Members("team", MEMBERS), (Node("server", "127.0.0.1"),), "127.0.0.1"))
    conf = tmp_path / "hub" / "server.conf"
    admin = folder.credentials_path("team", Role.ADMIN, "admin")
    host = folder.credentials_path("team", Role.HOST, HOST)
    async with running_server(tmp_path / "hub", conf=conf) as server:
        await make_streams(server.url, TEAM, 1, admin)
        settings = section(server.url, tenant="team", credentials=str(host))
        async with desk(tmp_path / "state", settings) as one:
            await one.begin()
            await one.say("hello", times=3)
            await until(lambda: one.mirror.counts.events > 9 and one.mirror.behind == 0)
            yield Team(server, folder, one)


async def overview_with_a_thread(view: PersonsView) -> f.FleetOverview:
    with anyio.fail_after(STEP_S):
        while not (found := await view.overview()).threads or not found.hosts:  # noqa: ASYNC110
            await anyio.sleep(0.2)
        return found


async def test_a_person_sees_machines_threads_and_events(team: Team) -> None:
    view = PersonsView(team.section(Role.VIEWER, "bob"))
    found = await overview_with_a_thread(view)
    assert (found.host, found.person, found.may_command) == ("here", "bob", False)
    assert [host.host for host in found.hosts] == [HOST]
    assert [(one.host, one.id, one.online) for one in found.threads] == [(HOST, THREAD, True)]
    events = await view.events(f.FleetEventsParams(host=HOST, thread_id=THREAD, limit=3))
    assert [event.type for event in events.events][-1] == "thread.turn-completed"
    assert events.earlier == len(await team.one.journaled()) - 3
    assert PersonsView(team.section(Role.OPERATOR, "alice")) is not view
    operator = await PersonsView(team.section(Role.OPERATOR, "alice")).overview()
    assert operator.may_command


async def test_a_thread_that_asks_is_distinguished_from_one_that_works(team: Team) -> None:
    writer = await team.one.registry.thread(THREAD)
    asked = ev.RequestOpened("question", "item/commandExecution/requestApproval")
    async with team.alice() as hub:
        for fact in (asked, ev.RequestClosed("question", "answered")):
            writer.record_facts(fact)
            await writer.flush()
            with anyio.fail_after(STEP_S):
                seen: list[bool] = []
                while seen != [fact is asked]:
                    await anyio.sleep(0.1)
                    seen = [one.thread.asks for one in await threads(hub, TEAM)]


async def refusal_of(view: PersonsView | NoFleet, host: str = HOST) -> Refusal:
    params = f.FleetExecuteParams(host=host, thread_id=THREAD, command="clear", command_id="c")
    with pytest.raises(Refusal) as refused:
        await view.execute(params)
    return refused.value


async def test_commands_that_a_person_may_not_give_are_refused_with_a_reason(
    team: Team, tmp_path: Path
) -> None:
    alice = PersonsView(team.section(Role.OPERATOR, "alice"))
    assert (await refusal_of(alice, "nowhere")).reason == "host_offline"
    assert (await refusal_of(alice, "*")).reason == "invalid_params"
    assert (await refusal_of(alice)).reason == "internal"  # this stage has no gateway
    bob = await refusal_of(PersonsView(team.section(Role.VIEWER, "bob")))
    assert bob.reason == "fleet_unreachable"
    assert "permissions violation" in bob.message
    assert (await refusal_of(NoFleet())).reason == "not_supported"
    missing = msgspec.structs.replace(team.section(None), person_credentials=str(tmp_path / "no"))
    assert (await refusal_of(PersonsView(missing))).reason == "not_supported"
    away = section(f"nats://127.0.0.1:{free_port()}")
    assert (await refusal_of(PersonsView(away))).reason == "fleet_unreachable"


async def test_a_daemon_without_a_persons_credentials_shows_nothing(team: Team) -> None:
    view = PersonsView(team.section(None))
    assert await view.overview() == f.FleetOverview(hosts=[], threads=[])
    assert (await refusal_of(view)).reason == "not_supported"
    with pytest.raises(Refusal):
        await NoFleet().events(f.FleetEventsParams(host=HOST, thread_id=THREAD))
    assert await NoFleet().overview() == f.FleetOverview(hosts=[], threads=[])


async def answers_of(team: Team, method: str, data: bytes) -> list[FleetAnswer]:
    """Returns all answers to a command."""
    found: list[FleetAnswer] = []
    async with team.alice() as hub:
        answers = hub.ask(TEAM.commands(HOST, "alice", method), data)
        async with aclosing(answers):
            with anyio.fail_after(STEP_S):
                async for answer in answers:
                    found.append(msgspec.json.decode(answer, type=FleetAnswer))
                    if found[-1].kind != "begun":
                        return found
    raise AssertionError(found)


async def test_a_command_that_is_none_is_refused(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    [answer] = await answers_of(team, "clear", b'{"threadId": 1}')
    assert (answer.kind, answer.reason) == ("refused", "invalid_params")
    command = b'{"threadId":"%b","commandId":"c"}'
    *_, answer = await answers_of(team, "interrupt", command % b"nothing")
    assert (answer.kind, answer.reason) == ("refused", "thread_not_found")
    *_, answer = await answers_of(team, "interrupt", command % THREAD.encode())
    assert answer.outcome is not None
    assert answer.outcome.status == "skipped"
    monkeypatch.setattr(answering, "MAX_COMMANDS", 0)
    [answer] = await answers_of(team, "clear", command % THREAD.encode())
    assert (answer.kind, answer.reason) == ("refused", "overloaded")


async def test_an_answer_goes_only_to_the_client_that_asked(team: Team) -> None:
    async with team.alice() as hub:
        subject = TEAM.commands(HOST, "alice", "interrupt")
        await hub.publish(subject, b'{"threadId":"t","commandId":"c"}', f"_INBOX.{HOST}.x")
        # It is the last command before this one, so it was looked at when this is answered.
        assert await answers_of(team, "interrupt", b"{}")


async def test_a_reader_ends_when_what_was_there_has_expired(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trimpoint.fleet.hub.connection.SILENCE_S", 0.1)
    stream, subject = bucket_stream(TEAM.threads_bucket), TEAM.overview("nobody", "*")
    async with team.alice() as hub:
        reading = await vars(Hub)[READING](hub, stream, subject, "all")
        reading.waiting = 1

        async def told_of_one(*_: str) -> object:
            return reading

        with monkeypatch.context() as patch:
            patch.setattr(hub, READING, told_of_one)
            assert [one async for one in hub.existing(stream, subject)] == []
        monkeypatch.setattr("trimpoint.fleet.hub.connection.READING_DEADLINE_S", 0.3)
        reading = await vars(Hub)[READING](hub, stream, TEAM.overview("*", "*"), "new")
        reading.waiting = 1
        monkeypatch.setattr(hub, READING, told_of_one)
        monkeypatch.setattr(reading, "has_sent", never)
        with pytest.raises(HubFailed, match="stopped in the middle"):
            [one async for one in hub.existing(stream, TEAM.overview("*", "*"))]


async def never(count: int) -> bool:
    return False
