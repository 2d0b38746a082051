"""Hubs as teams run them: encrypted with their own CA, with NKEYs, three servers of `trimpoint
fleet init`, and a leaf with accounts.
"""

import shutil
import subprocess
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import pytest
from trimpoint.config.sections import FleetSection
from trimpoint.fleet import keys
from trimpoint.fleet.commands.asking import ask
from trimpoint.fleet.commands.requests import FleetCommand
from trimpoint.fleet.hub.connection import Hub, Place, connected
from trimpoint.fleet.hub.errors import HubFailed, HubUnreachable
from trimpoint.fleet.names import Names
from trimpoint.fleet.reading import events_of, hosts, threads
from trimpoint.fleet.roles import Rights, Role, rights_of
from trimpoint.fleet.setup import HubFolder, Members, Node

from tests.deadlines import STEP_S
from tests.fleet.servers import Server, running_server
from tests.fleet.stage import HOST, THREAD, Desk, desk, make_streams, section, until
from tests.ports import free_port
from tests.tools import missing

pytestmark = pytest.mark.processes
TEAM = Names("team")
MEMBERS = ((Role.HOST, HOST), (Role.OPERATOR, "alice"), (Role.VIEWER, "bob"))
ADDRESS = "127.0.0.1"


def certificates(folder: Path) -> None:
    """Makes a CA `ca.pem`, and `server.pem` with its key for this machine's address."""
    commands = (
        "req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -subj /CN=ours -days 2",
        "req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=hub",
        "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -out server.pem "
        "-days 2 -extfile names.txt",
    )
    (folder / "names.txt").write_text(f"subjectAltName=IP:{ADDRESS}\n")
    for command in commands:
        try:
            subprocess.run(
                ["openssl", *command.split()], cwd=folder, check=True, capture_output=True
            )
        except FileNotFoundError:
            missing("openssl")


def folder_of(root: Path, *nodes: Node) -> HubFolder:
    folder = HubFolder(root)
    list(folder.add(Members("team", MEMBERS), nodes or (Node("server", ADDRESS),), ADDRESS))
    return folder


async def until_read(one: Desk, seen: Place) -> None:
    """Waits until a person reads the same thread as in the journal."""
    expected, found = await one.journaled(), list[tuple[int, int, str]]()
    with anyio.fail_after(STEP_S):
        while found != expected:
            try:
                async with connected(seen) as hub:
                    found = [
                        (event.thread_sequence, event.sequence, event.type)
                        async for event in events_of(hub, TEAM, HOST, THREAD)
                    ]
                    listed = [(each.host, each.thread.id) for each in await threads(hub, TEAM)]
                    assert listed in ([], [(HOST, THREAD)])
            except HubFailed:
                await anyio.sleep(0.1)


async def test_with_a_ca_of_its_own_the_hub_is_trusted_by_whoever_names_it(tmp_path: Path) -> None:
    root = tmp_path / "hub"
    folder = folder_of(root)
    certificates(root)
    conf = root / "server.conf"
    conf.write_text(conf.read_text().replace("# tls {", "tls {"))
    async with running_server(root, conf=conf) as server:
        url, ca = server.url.replace("nats://", "tls://"), root / "ca.pem"
        assert "tls" in conf.read_text()

        def person(role: Role, name: str, trusted: Path | None) -> Place:
            credentials = folder.credentials_path("team", role, name)
            return Place((url,), credentials, f"_INBOX.{name}", name, trusted)

        async with connected(person(Role.ADMIN, "admin", ca)) as admin:
            await made(admin)
        with pytest.raises(HubUnreachable, match="certificate"):
            async with connected(person(Role.VIEWER, "bob", None)):
                pass
        credentials = folder.credentials_path("team", Role.HOST, HOST)
        settings = section(url, tenant="team", ca=str(ca), credentials=str(credentials))
        async with desk(tmp_path / "state", settings) as one:
            await one.begin()
            await one.say("hello")
            await until_read(one, person(Role.VIEWER, "bob", ca))


async def made(hub: Hub) -> None:
    """Makes the streams as `trimpoint fleet setup` does. A new cluster is not ready for some
    seconds.
    """
    from trimpoint.fleet.setup import make_streams as make

    with anyio.fail_after(STEP_S):
        while True:
            try:
                return await make(hub, TEAM, 1)
            except HubFailed:
                await anyio.sleep(0.1)


def nkey_user(path: Path, rights: Rights | None) -> str:
    """Writes a seed, and returns the user for a server's configuration."""
    user = keys.new_key("user")
    path.write_text(user.seed + "\n")
    path.chmod(0o600)
    if rights is None:
        return f"{{ nkey: {user.public} }}"
    publish, subscribe = (
        "[" + ", ".join(f'"{subject}"' for subject in subjects) + "]"
        for subjects in (rights.publish, rights.subscribe)
    )
    answers = f", allow_responses: {{ max: {rights.answers} }}" if rights.answers else ""
    allowed = f"publish: {{ allow: {publish} }}, subscribe: {{ allow: {subscribe} }}{answers}"
    return f"{{ nkey: {user.public}, permissions: {{ {allowed} }} }}"


async def test_nkeys_do_as_well_as_jwts(tmp_path: Path) -> None:
    users = (
        nkey_user(tmp_path / "admin.nk", rights_of(Role.ADMIN, "admin", "team")),
        nkey_user(tmp_path / "desk.nk", rights_of(Role.HOST, HOST, "team")),
        nkey_user(tmp_path / "bob.nk", rights_of(Role.VIEWER, "bob", "team")),
    )
    config = f"authorization {{ users: [ {', '.join(users)} ] }}\n"
    async with running_server(tmp_path / "hub", config) as server:
        await make_streams(server.url, TEAM, 1, tmp_path / "admin.nk")
        settings = section(server.url, tenant="team", credentials=str(tmp_path / "desk.nk"))
        async with desk(tmp_path / "state", settings) as one:
            await one.begin()
            await one.say("hello")
            bob = Place((server.url,), tmp_path / "bob.nk", "_INBOX.bob", "bob")
            await until_read(one, bob)
            async with connected(bob) as hub:
                assert [host.host for host in await hosts(hub, TEAM)] == [HOST]
        with pytest.raises(HubUnreachable, match=r"(?i)authorization"):
            async with connected(Place((server.url,), None, "_INBOX.bob", "bob")):
                pass


@asynccontextmanager
async def three_nodes(root: Path) -> AsyncGenerator[tuple[HubFolder, list[Server]]]:
    """Yields three servers, started with the configuration that `trimpoint fleet init` writes."""
    nodes = tuple(Node(name, ADDRESS, free_port(), free_port()) for name in ("a", "b", "c"))
    folder = folder_of(root, *nodes)
    async with AsyncExitStack() as stack:
        servers: list[Server] = []
        for node in nodes:
            server = Server(root, name=node.name, conf=root / f"{node.name}.conf")
            server.port = node.port
            await server.start()
            stack.push_async_callback(server.kill)
            servers.append(server)
        yield folder, servers


async def test_three_servers_of_init_are_a_cluster_that_no_other_server_joins(
    tmp_path: Path,
) -> None:
    root = tmp_path / "hub"
    async with three_nodes(root) as (folder, servers):
        urls = tuple(server.url for server in servers)
        await make_streams(urls, TEAM, 3, folder.credentials_path("team", Role.ADMIN, "admin"))
        credentials = folder.credentials_path("team", Role.HOST, HOST)
        settings = section(urls, tenant="team", credentials=str(credentials))
        bob = Place(urls, folder.credentials_path("team", Role.VIEWER, "bob"), "_INBOX.bob", "bob")
        async with desk(tmp_path / "state", settings) as one:
            await one.begin()
            await one.say("hello")
            await until_read(one, bob)
            await servers[0].kill()
            await one.say("with one server less")
            await until_read(one, bob)
        routes = (root / "b.conf").read_text().partition("routes: [")[2].partition("]")[0]
        stranger = Server(
            tmp_path / "stranger",
            f'cluster {{ name: trimpoint, listen: "{ADDRESS}:{free_port()}", '
            f"routes: [{routes.replace(password_in(routes), 'guess')}] }}",
            "stranger",
        )
        stranger.keeps = False
        await stranger.start()
        try:
            await until(lambda: "authorization" in stranger.said().lower())
        finally:
            await stranger.kill()


def password_in(routes: str) -> str:
    return routes.partition("nats://server:")[2].partition("@")[0]


async def test_a_leaf_of_init_passes_on_what_its_clients_may_do(tmp_path: Path) -> None:
    root, site = tmp_path / "hub", tmp_path / "site"
    node = Node("server", ADDRESS, leaf_port=free_port())
    folder = folder_of(root, node)
    list(folder.add(Members("team", ((Role.LEAF, "paris"),)), (node,), ADDRESS))
    conf = root / "server.conf"
    conf.write_text(conf.read_text().replace("# leafnodes", "leafnodes"))
    site.mkdir()
    credentials = folder.credentials_path("team", Role.LEAF, "paris")
    for path in (root / "leaf-paris.conf", root / "accounts.conf", credentials):
        shutil.copy(path, site)
    leaf = Server(site, conf=site / "leaf-paris.conf")
    async with running_server(root, conf=conf) as hub:
        admin = folder.credentials_path("team", Role.ADMIN, "admin")
        await make_streams(hub.url, TEAM, 1, admin)
        await leaf.start()
        try:
            settings = FleetSection(
                servers=(leaf.url,), tenant="team", host=HOST, domain="hub",
                credentials=str(folder.credentials_path("team", Role.HOST, HOST)),
            )  # fmt: skip
            path = folder.credentials_path("team", Role.VIEWER, "bob")
            through_leaf = Place((leaf.url,), path, "_INBOX.bob", "bob", None, "hub")
            async with desk(tmp_path / "state", settings) as one:
                await one.begin()
                await one.say("hello")
                await until_read(one, Place((hub.url,), path, "_INBOX.bob", "bob"))
                await until_read(one, through_leaf)
            async with connected(through_leaf) as bob:
                command = FleetCommand(THREAD, "c", deadline_s=5)
                with pytest.raises(HubFailed, match="permissions violation"):
                    await ask(bob, TEAM, HOST, "bob", "clear", command)
        finally:
            await leaf.kill()
