"""Roles and tenants, with a server whose configuration `trimpoint fleet init` writes: each role's
credentials are tried on the subjects of the others.
"""

import itertools
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest
from nats.aio.client import Client
from trimpoint.fleet import keys
from trimpoint.fleet.commands.asking import person_of
from trimpoint.fleet.hub.connection import CredentialsUnusable, connected
from trimpoint.fleet.hub.errors import HubFailed, HubUnreachable
from trimpoint.fleet.names import Names
from trimpoint.fleet.reading import threads
from trimpoint.fleet.roles import Role, rights_of
from trimpoint.fleet.setup import HubFolder, Members, NameTaken, Node

from tests.deadlines import STEP_S
from tests.fleet.servers import Server, running_server
from tests.fleet.stage import HOST, THREAD, desk, make_streams, place, section, until

pytestmark = pytest.mark.processes
TEAM = Names("team")
MEMBERS = ((Role.HOST, HOST), (Role.HOST, "other"), (Role.OPERATOR, "alice"), (Role.VIEWER, "bob"))


class Hub(NamedTuple):
    server: Server
    folder: HubFolder
    root: Path

    def credentials(self, role: Role, name: str, tenant: str = "team") -> Path:
        return self.folder.credentials_path(tenant, role, name)

    def account(self, tenant: str) -> keys.Key:
        return keys.Key((self.root / "keys" / f"account-{tenant}.seed").read_text().strip())


@pytest.fixture(scope="module")
async def hub(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Hub]:
    root = tmp_path_factory.mktemp("hub")
    folder = HubFolder(root)
    for tenant in ("team", "rivals"):
        list(folder.add(Members(tenant, MEMBERS), (Node("server", "127.0.0.1"),), "127.0.0.1"))
    async with running_server(root, conf=root / "server.conf") as server:
        for tenant in ("team", "rivals"):
            admin = folder.credentials_path(tenant, Role.ADMIN, "admin")
            await make_streams(server.url, Names(tenant), 1, admin)
        yield Hub(server, folder, root)


@asynccontextmanager
async def connection(
    url: str, credentials: Path, name: str
) -> AsyncGenerator[tuple[Any, list[str]]]:
    # Any: the callbacks of the package have no full types.
    client, said = Client(), list[str]()

    async def on_error(error: Exception) -> None:
        said.append(str(error).lower())

    await client.connect(
        url, user_credentials=str(credentials), inbox_prefix=f"_INBOX.{name}", error_cb=on_error
    )
    try:
        yield client, said
    finally:
        await client.close()


def subjects_of(pattern: str) -> set[str]:
    """Returns subjects that a permission covers, with the names of this module in place of
    wildcards.
    """
    tokens = pattern.replace(">", "*.*").split(".")
    choices = [("x", HOST, "DELETE") if token == "*" else (token,) for token in tokens]
    found = {".".join(chosen) for chosen in itertools.product(*choices)}
    return {pattern, *found} if len(found) == 1 else found


def all_rights() -> tuple[set[str], set[str]]:
    """Returns every subject that any role of either tenant may publish or subscribe to."""
    roles = [
        rights_of(role, name, tenant)
        for tenant in ("team", "rivals")
        for role, name in (*MEMBERS, (Role.ADMIN, "admin"))
    ]
    publish = {one for rights in roles for right in rights.publish for one in subjects_of(right)}
    subscribe = {right for rights in roles for right in rights.subscribe}
    return publish, subscribe | {right for rights in roles for right in rights.publish}


STREAM, KV_PRESENCE, KV_THREADS = "fleet-team", "KV_fleet-team-presence", "KV_fleet-team-threads"
PUBLISH = (
    TEAM.events(HOST, THREAD), TEAM.events("other", THREAD), TEAM.presence(HOST),
    TEAM.presence("other"), TEAM.overview(HOST, THREAD), TEAM.overview("other", THREAD),
    *(TEAM.commands(host, person, method) for host in (HOST, "other")
      for person in ("alice", "bob") for method in ("clear", "compact", "interrupt", "delete")),
    *(f"$JS.API.{name}" for name in (
        "INFO", "STREAM.NAMES", "STREAM.LIST", f"STREAM.INFO.{STREAM}", f"STREAM.DELETE.{STREAM}",
        f"STREAM.PURGE.{STREAM}", f"STREAM.UPDATE.{STREAM}", "STREAM.CREATE.mine",
        f"STREAM.MSG.GET.{STREAM}", f"STREAM.MSG.DELETE.{STREAM}", f"STREAM.DELETE.{KV_THREADS}",
        f"DIRECT.GET.{STREAM}", f"DIRECT.GET.{STREAM}.{TEAM.events(HOST, THREAD)}",
        f"DIRECT.GET.{STREAM}.{TEAM.events('other', THREAD)}",
        f"CONSUMER.CREATE.{STREAM}.c.{TEAM.all_events}", f"CONSUMER.CREATE.{KV_PRESENCE}",
        f"CONSUMER.CREATE.{KV_THREADS}",
    )),
    f"$JS.hub.API.STREAM.DELETE.{STREAM}", f"$JS.hub.API.DIRECT.GET.{STREAM}.{TEAM.events('other', THREAD)}",
    "_INBOX.alice.stolen", "fleet.rivals.desk.ev.x", "anything",
)  # fmt: skip
"""Beside these, `all_rights`: what each role may do is tried by all others."""
SUBSCRIBE = (
    ">", "_INBOX.>", "_INBOX.alice.>", f"_INBOX.{HOST}.>", "_INBOX.bob.>", TEAM.all_events,
    TEAM.commands(HOST, "*", "*"), TEAM.commands("other", "*", "*"), "$KV.>", "$JS.>", "fleet.>",
)  # fmt: skip


def matches(pattern: str, subject: str) -> bool:
    """Returns whether a permission covers a subject, wildcards in the subject included."""
    ours, asked = pattern.split("."), subject.split(".")
    for at, token in enumerate(ours):
        if token == ">":
            return len(asked) > at
        if at >= len(asked) or (token != asked[at] and (token != "*" or asked[at] == ">")):
            return False
    return len(ours) == len(asked)


@pytest.mark.each_case(reason="each role has rights of its own")
@pytest.mark.parametrize(("role", "name"), [*MEMBERS, (Role.ADMIN, "admin")])
async def test_a_role_may_do_what_it_needs_and_nothing_else(
    hub: Hub, role: Role, name: str
) -> None:
    rights = rights_of(role, name, "team")
    async with connection(hub.server.url, hub.credentials(role, name), name) as (client, said):

        async def refused(subject: str) -> None:
            # The server may say so after its next answer, and by the name without the domain.
            names = {subject.lower(), subject.lower().replace("$js.hub.api", "$js.api")}
            with anyio.fail_after(STEP_S):
                while not any(f'"{name}"' in one for one in said for name in names):
                    await client.flush()
            said.clear()

        publish, subscribe = all_rights()
        tried = 0
        for subject in sorted({*PUBLISH, *publish}):
            if not any(matches(pattern, subject) for pattern in rights.publish):
                await client.publish(subject, b"{}")
                await refused(subject)
                tried += 1
        assert tried > 100
        wanted = sorted({*SUBSCRIBE, *subscribe})
        allowed = {one for one in wanted if any(matches(p, one) for p in rights.subscribe)}
        for subject in wanted:
            await client.subscribe(subject)
            if subject not in allowed:
                await refused(subject)
        assert not [one for one in said if any(f'"{each.lower()}"' in one for each in allowed)]


def test_the_table_of_rights_is_as_narrow_as_it_is_meant() -> None:
    host = rights_of(Role.HOST, HOST, "team")
    assert not any("other" in subject or ".*.ev" in subject for subject in host.publish)
    viewer = rights_of(Role.VIEWER, "bob", "team")
    assert not any(".cmd." in subject or subject.startswith("fleet.") for subject in viewer.publish)
    operator = rights_of(Role.OPERATOR, "alice", "team")
    assert {one for one in operator.publish if ".cmd." in one} == {
        f"fleet.team.*.cmd.alice.{method}" for method in ("clear", "compact", "interrupt")
    }
    for role, name in MEMBERS:
        rights = rights_of(role, name, "team")
        assert not {">", "*", "$JS.API.>", "_INBOX.>"} & {*rights.publish, *rights.subscribe}


async def test_a_daemon_and_a_viewer_get_by_with_their_rights(hub: Hub, tmp_path: Path) -> None:
    settings = section(
        hub.server.url, tenant="team", credentials=str(hub.credentials(Role.HOST, HOST))
    )
    async with desk(tmp_path / "state", settings) as one:
        await one.begin()
        await one.say("hello")
        await until(lambda: one.mirror.counts.events > 3 and one.mirror.behind == 0)
        viewer = place(hub.server.url, "bob", hub.credentials(Role.VIEWER, "bob"))
        async with connected(viewer) as seen:
            found: list[tuple[str, str]] = []
            with anyio.fail_after(STEP_S):
                while (HOST, THREAD) not in found:
                    found = [(one.host, one.thread.id) for one in await threads(seen, TEAM)]


async def test_a_tenant_sees_nothing_of_another_even_with_every_right(
    hub: Hub, tmp_path: Path
) -> None:
    user = keys.new_key("user")
    jwt = keys.user_jwt(hub.account("rivals"), user.public, "spy", None)
    path = tmp_path / "spy.creds"
    path.write_text(keys.credentials(jwt, user))
    path.chmod(0o600)
    host = hub.credentials(Role.HOST, HOST)
    async with (
        connection(hub.server.url, path, "spy") as (spy, _),
        connected(place(hub.server.url, HOST, host)) as team,
    ):
        seen: list[str] = []

        async def on_message(message: Any) -> None:
            seen.append(str(message.subject))

        await spy.subscribe("fleet.>", cb=on_message)
        await spy.subscribe("$KV.>", cb=on_message)
        await spy.flush()
        await team.store(TEAM.events(HOST, "x"), b'{"events":[]}')
        await team.store(TEAM.presence(HOST), b"{}")
        await spy.publish("fleet.proof", b"")
        await spy.flush()
        await until(lambda: "fleet.proof" in seen)
        assert seen == ["fleet.proof"]
        spying = place(hub.server.url, "spy", path)
        async with connected(spying) as reader:
            with pytest.raises(HubFailed):
                await threads(reader, TEAM)


async def test_credentials_that_others_can_read_are_refused_before_anything_is_sent(
    hub: Hub, tmp_path: Path
) -> None:
    path = tmp_path / "copied.creds"
    path.write_bytes(hub.credentials(Role.HOST, HOST).read_bytes())
    path.chmod(0o644)
    with pytest.raises(CredentialsUnusable, match="chmod 600"):
        async with connected(place(hub.server.url, HOST, path)):
            pass
    with pytest.raises(CredentialsUnusable):
        person_of(path)
    path.chmod(0o600)
    async with connected(place(hub.server.url, HOST, path)):
        pass


async def test_a_server_that_does_not_encrypt_is_not_used_where_its_address_says_so(
    hub: Hub,
) -> None:
    url = hub.server.url.replace("nats://", "tls://")
    with pytest.raises(HubUnreachable, match="does not encrypt"):
        async with connected(place(url, HOST, hub.credentials(Role.HOST, HOST))):
            pass


async def test_expired_credentials_end_the_connection_and_new_ones_are_taken_up(
    hub: Hub, tmp_path: Path
) -> None:
    path = tmp_path / "host.creds"
    rights = rights_of(Role.HOST, HOST, "team")

    def issue(lasts_s: int) -> None:
        user = keys.new_key("user")
        jwt = keys.user_jwt(
            hub.account("team"), user.public, HOST, rights, int(time.time()) + lasts_s
        )
        path.write_text(keys.credentials(jwt, user))
        path.chmod(0o600)

    issue(-10)
    with pytest.raises(HubUnreachable, match=r"(?i)authorization|expired"):
        async with connected(place(hub.server.url, HOST, path)):
            pass
    issue(2)
    settings = section(hub.server.url, tenant="team", credentials=str(path))
    async with desk(tmp_path / "state", settings) as one:
        await one.begin("01900000-0000-7000-8000-00000000000e")
        await until(lambda: one.mirror.counts.events > 0)
        sent = one.mirror.counts.events
        async with connected(place(hub.server.url, HOST, path)) as other:
            await other.closed.wait()  # the server ends it when the credentials are over
        await one.say("later", "01900000-0000-7000-8000-00000000000e")
        issue(3600)
        await until(lambda: one.mirror.counts.events == sent + 3)


def test_init_adds_members_and_leaves_what_is_there(tmp_path: Path) -> None:
    folder, nodes = HubFolder(tmp_path), (Node("server", "127.0.0.1"),)
    first = {*folder.add(Members("team", MEMBERS[:1]), nodes, "127.0.0.1")}
    before = {path: path.read_bytes() for path in first}
    second = {*folder.add(Members("team", MEMBERS), nodes, "127.0.0.1")}
    assert {path for path in before if path.read_bytes() != before[path]} <= {
        tmp_path / "accounts.conf"
    }
    assert second == {
        tmp_path / "accounts.conf",
        *(folder.credentials_path("team", role, name) for role, name in MEMBERS[1:]),
    }
    for path in first | second:
        assert path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "names",
    [
        ((Role.HOST, "anna"), (Role.VIEWER, "anna")),
        ((Role.VIEWER, "admin"),),
        ((Role.OPERATOR, "desk"),),
    ],
)
def test_init_gives_no_two_members_one_name(
    tmp_path: Path, names: tuple[tuple[Role, str], ...]
) -> None:
    folder, nodes = HubFolder(tmp_path), (Node("server", "127.0.0.1"),)
    assert {*folder.add(Members("team", ((Role.HOST, "desk"),)), nodes, "127.0.0.1")}
    with pytest.raises(NameTaken, match="would be the name of a"):
        list(folder.add(Members("team", names), nodes, "127.0.0.1"))
