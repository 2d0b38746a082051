"""Creates the streams of a hub, and the files for new servers: configuration and credentials."""

import secrets
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

from trimpoint.atomic_files import replace_file
from trimpoint.fleet import keys
from trimpoint.fleet.hub.connection import Hub
from trimpoint.fleet.names import HUB_DOMAIN, Names
from trimpoint.fleet.presence import PRESENCE_TTL_S
from trimpoint.fleet.roles import Role, rights_of

_OPERATOR, _SYSTEM = "operator.seed", "system"


class Node(NamedTuple):
    """A server of the hub: its name, and its address for the other servers and the hosts."""

    name: str
    address: str
    port: int = 4222
    cluster_port: int = 6222
    leaf_port: int = 7422


class Members(NamedTuple):
    """The members of a tenant that get credentials, which expire after `days`; None: never."""

    tenant: str
    names: tuple[tuple[Role, str], ...]
    days: int | None = None


async def make_streams(hub: Hub, names: Names, replicas: int) -> None:
    """Creates the stream and the buckets of a tenant, unless they exist.

    :raises HubFailed: when they cannot be created.
    """
    await hub.make_stream(names.stream, names.all_events, replicas)
    await hub.make_bucket(names.threads_bucket, replicas)
    await hub.make_bucket(names.presence_bucket, replicas, PRESENCE_TTL_S)


class NameTaken(ValueError):
    """Raised when two members would have one name: they would read each other's answers."""

    def __init__(self, name: str, roles: tuple[str, str]) -> None:
        super().__init__(name, roles)
        self.name, self.roles = name, roles

    def __str__(self) -> str:
        return f"{self.name} would be the name of a {self.roles[0]} and of a {self.roles[1]}."


class HubFolder:
    """A folder with the configuration and keys of a hub. Existing files are not overwritten, except
    `accounts.conf`, which is generated from the others.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def add(self, members: Members, nodes: tuple[Node, ...], listen: str) -> Iterator[Path]:
        """Writes the missing files and yields their paths.

        :raises NameTaken: when a name is that of another member, here or from before.
        :raises OSError: when a file cannot be written.
        """
        self._check_names(members)
        operator = yield from self._key("operator", _OPERATOR)
        yield from self._account(operator, _SYSTEM)
        account = yield from self._account(operator, members.tenant)
        for role, name in ((Role.ADMIN, "admin"), *members.names):
            yield from self._credentials(account, members, role, name)
        for role, name in members.names:
            path = self._root / f"leaf-{name}.conf"
            if role is Role.LEAF and not path.exists():
                _write(path, _leaf_conf(name, account, nodes, listen), 0o600)
                yield path
        yield self._write_accounts(operator)
        password = yield from self._cluster_password()
        for node in nodes:
            path = self._root / f"{node.name}.conf"
            if not path.exists():
                _write(path, _server_conf(node, nodes, listen, password), 0o600)
                yield path

    def _check_names(self, members: Members) -> None:
        """Returns if each name has one role: inboxes are named by the member alone."""
        roles = {"admin": Role.ADMIN}
        for role, name in members.names:
            known = (one for one in Role if one is not role)
            found = (
                one for one in known if self.credentials_path(members.tenant, one, name).exists()
            )
            other = roles.setdefault(name, next(found, role))
            if other is not role:
                raise NameTaken(name, (other, role))

    def credentials_path(self, tenant: str, role: Role, name: str) -> Path:
        """Returns the path of a member's credentials."""
        return self._root / "credentials" / tenant / f"{role}-{name}.creds"

    def _key(self, kind: str, name: str) -> Generator[Path, None, keys.Key]:
        path = self._root / "keys" / name
        if not path.exists():
            _write(path, keys.new_key(kind).seed + "\n", 0o600)
            yield path
        return keys.Key(path.read_text(encoding="utf-8").strip())

    def _cluster_password(self) -> Generator[Path, None, str]:
        """Returns the password with which servers of the cluster authenticate each other, created
        if there is none. A server that joins a cluster can read all messages.
        """
        path = self._root / "keys" / "cluster.password"
        if not path.exists():
            _write(path, secrets.token_urlsafe(32) + "\n", 0o600)
            yield path
        return path.read_text(encoding="utf-8").strip()

    def _account(self, operator: keys.Key, name: str) -> Generator[Path, None, keys.Key]:
        key = yield from self._key("account", f"account-{name}.seed")
        path = self._root / "keys" / f"account-{name}.jwt"
        if not path.exists():
            is_tenant = name != _SYSTEM
            _write(path, keys.account_jwt(operator, key.public, name, jetstream=is_tenant), 0o600)
            yield path
        return key

    def _credentials(
        self, account: keys.Key, members: Members, role: Role, name: str
    ) -> Iterator[Path]:
        path = self.credentials_path(members.tenant, role, name)
        if path.exists():
            return
        user = keys.new_key("user")
        expires = None if members.days is None else int(time.time()) + members.days * 86_400
        rights = rights_of(role, name, members.tenant)
        jwt = keys.user_jwt(account, user.public, name, rights, expires)
        _write(path, keys.credentials(jwt, user), 0o600)
        yield path

    def _write_accounts(self, operator: keys.Key) -> Path:
        folder, path = self._root / "keys", self._root / "accounts.conf"
        accounts = {
            _public(folder / f"{jwt.stem}.seed"): jwt.read_text(encoding="utf-8")
            for jwt in sorted(folder.glob("account-*.jwt"))
        }
        system = _public(folder / f"account-{_SYSTEM}.seed")
        own = keys.operator_jwt(operator, "trimpoint fleet", system)
        preload = "".join(f"  {key}: {jwt}\n" for key, jwt in accounts.items())
        text = (
            f"operator: {own}\nsystem_account: {system}\nresolver: MEMORY\n"
            f"resolver_preload: {{\n{preload}}}\n"
        )
        _write(path, text, 0o600)
        return path


def _public(seed: Path) -> str:
    return keys.Key(seed.read_text(encoding="utf-8").strip()).public


def _server_conf(node: Node, nodes: tuple[Node, ...], listen: str, password: str) -> str:
    text = (
        f"server_name: {node.name}\n"
        f'listen: "{listen}:{node.port}"\n'
        'include "accounts.conf"\n'
        f'jetstream {{\n  store_dir: "jetstream-{node.name}"\n  domain: {HUB_DOMAIN}\n'
        "  # An acknowledged message may wait two minutes for the disk. Daemons send again what a\n"
        "  # power failure takes; others who rely on the hub want:\n"
        "  # sync_interval: always\n}\n"
        "# Beyond one machine, have it encrypted:\n"
        '# tls { cert_file: "server.pem", key_file: "server.key" }\n'
        "# Where sites have leaf nodes:\n"
        f'# leafnodes {{ listen: "{listen}:{node.leaf_port}" }}\n'
    )
    if len(nodes) == 1:
        return text
    routes = ", ".join(
        f'"nats://server:{password}@{one.address}:{one.cluster_port}"' for one in nodes
    )
    return text + (
        f'cluster {{\n  name: trimpoint\n  listen: "{listen}:{node.cluster_port}"\n'
        f'  authorization {{ user: server, password: "{password}" }}\n'
        f"  routes: [{routes}]\n}}\n"
    )


def _leaf_conf(name: str, account: keys.Key, nodes: tuple[Node, ...], listen: str) -> str:
    urls = ", ".join(f'"nats-leaf://{one.address}:{one.leaf_port}"' for one in nodes)
    return (
        f'server_name: leaf-{name}\nlisten: "{listen}:4222"\ninclude "accounts.conf"\n'
        f"leafnodes {{ remotes: [ {{\n  urls: [{urls}]\n  account: {account.public}\n"
        f'  credentials: "leaf-{name}.creds"\n}} ] }}\n'
    )


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    replace_file(path, text.encode(), mode=mode)
