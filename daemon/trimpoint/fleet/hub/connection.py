"""A connection to the NATS servers of a fleet. All connections are made here.

Always true: a connection that was lost is closed and not used again; its user opens another one
with the credentials that are then in the file. Each call has a deadline. What is called `tls://` is
encrypted, or not used.
"""

# nats gives some of its types without their parameters.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import os
import random
import ssl
import stat
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import nats
import nats.errors
import nats.js.api as js_api
import nats.js.errors
from nats.aio.client import Client as NatsClient
from nats.aio.msg import Msg

from trimpoint.fleet.hub.errors import HubFailed, HubUnreachable, NoReceiver, failures
from trimpoint.fleet.hub.messages import Reading, Stored, end, stored

CONNECT_DEADLINE_S = 20.0
"""For all servers together."""
_ONE_SERVER_S = 5
ANSWER_DEADLINE_S = 5.0
LAST_SUBJECT_SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
SILENCE_S = 5.0
READING_DEADLINE_S = 30.0
"""For the next message of those that are there. The client looks every ten seconds whether the
server still knows what it reads, and begins again where it stopped.
"""
_NO_RESPONDERS = "503"


class Place(NamedTuple):
    """The addresses of the servers and the identity of the connection: `name` is that of the host
    or the person.
    """

    servers: tuple[str, ...]
    credentials: Path | None
    inbox_prefix: str
    name: str
    ca: Path | None = None
    domain: str | None = None
    """The JetStream domain of the hub, where it is reached through a leaf."""


class CredentialsUnusable(ValueError):
    """Other users can read a file of credentials."""

    def __init__(self, path: Path, mode: int) -> None:
        super().__init__(path, mode)
        self.path = path
        self.mode = mode

    def __str__(self) -> str:
        return f"other users can read {self.path} (mode {self.mode:04o}): chmod 600 {self.path}"


class Last(NamedTuple):
    """The last message of a subject."""

    stream_sequence: int
    headers: dict[str, str]
    data: bytes


NO_MESSAGE = Last(0, {}, b"")


OnMessage = Callable[[str, str, bytes], Awaitable[None]]


class Hub:
    """A connection, made by `connected`. `closed` is set when it is lost."""

    def __init__(
        self,
        client: NatsClient,
        closed: anyio.Event,
        problems: list[str],
        domain: str | None = None,
    ) -> None:
        self.closed = closed
        self._problems = problems
        self._client = client
        self._js = client.jetstream(timeout=ANSWER_DEADLINE_S, domain=domain)

    async def last(self, stream: str, subject: str) -> Last:
        """Returns the last message of a subject; `NO_MESSAGE` if there is none.

        :raises HubFailed: when it cannot be read.
        """
        with failures():
            try:
                found = await self._js.get_last_msg(stream, subject, direct=True)
            except nats.js.errors.NotFoundError:
                return NO_MESSAGE
        return Last(int(found.seq or 0), dict(found.headers or {}), found.data or b"")

    async def store(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        """Stores a message and returns the sequence number that the stream gave it.

        :raises StaleWriter: when the last message of the subject is not the one in the headers.
        :raises HubFailed: when it is not known whether the message was stored.
        """
        with failures():
            stored = await self._js.publish(subject, data, headers=headers)
        return stored.seq

    async def publish(self, subject: str, data: bytes, reply: str = "") -> None:
        """Sends a message to the subscribers of a subject.

        :raises HubFailed: when the connection is lost.
        """
        with failures():
            await self._client.publish(subject, data, reply=reply)

    def _refusal_of(self, subject: str) -> str | None:
        """Returns the server's error about a message to the subject, or None."""
        # It gives subjects in lower case.
        said = (one for one in self._problems if subject.lower() in one.lower())
        return next(said, None)

    async def subscribe(self, subject: str, on_message: OnMessage) -> None:
        """Subscribes to a subject and calls `on_message(subject, reply, data)` for each message.

        :raises HubFailed: when the connection is lost.
        """

        async def received(message: Msg) -> None:
            await on_message(message.subject, message.reply, message.data)

        with failures():
            await self._client.subscribe(subject, cb=received)

    async def ask(self, subject: str, data: bytes) -> AsyncGenerator[bytes]:
        """Sends a request and yields the answers to it until the caller stops.

        :raises NoReceiver: when nobody has subscribed to the subject.
        :raises HubFailed: when the connection is lost, or the server refused the message.
        """
        inbox = self._client.new_inbox()
        with failures():
            subscription = await self._client.subscribe(inbox)
            await self._client.publish(subject, data, reply=inbox)
        while not self.closed.is_set():
            with failures():
                try:
                    message = await subscription.next_msg(timeout=0.25)
                except nats.errors.TimeoutError:
                    if (refusal := self._refusal_of(subject)) is not None:
                        raise HubFailed(refusal) from None
                    continue
            if (message.headers or {}).get("Status") == _NO_RESPONDERS:
                raise NoReceiver("the hub knows no receiver of this request")
            yield message.data
        raise HubFailed("the connection to the hub is lost")

    async def existing(
        self, stream: str, subject: str, policy: str = "all"
    ) -> AsyncGenerator[Stored]:
        """Yields the messages that the stream has now: all of them, or with `last_per_subject` the
        last one of each subject.

        :raises HubFailed: when they cannot be read completely.
        """
        reading = await self._reading(stream, subject, policy)
        async with reading:
            waiting, taken, silent_s = reading.waiting, 0, 0.0
            while waiting > 0:
                message = await reading.next(SILENCE_S)
                if message is not None:
                    waiting, taken, silent_s = message.metadata.num_pending, taken + 1, 0.0
                    yield stored(message)
                elif await reading.has_sent(taken):  # what was there has expired meanwhile
                    return
                elif (silent_s := silent_s + SILENCE_S) >= READING_DEADLINE_S:
                    raise HubFailed("no answer: the hub stopped in the middle of it")

    async def coming(self, stream: str, subject: str) -> AsyncGenerator[Stored]:
        """Yields new messages as they arrive, without end.

        :raises HubFailed: when they can no longer be read.
        """
        reading = await self._reading(stream, subject, "new")
        async with reading:
            while True:
                message = await reading.next(SILENCE_S)
                # The client begins at the first message if the server lost track before any came.
                if message is not None and message.metadata.sequence.stream > reading.begins_behind:
                    yield stored(message)

    async def _reading(self, stream: str, subject: str, policy: str) -> Reading:
        with failures():
            subscription = await self._js.subscribe(
                subject, stream=stream, ordered_consumer=True,
                deliver_policy=js_api.DeliverPolicy(policy), pending_bytes_limit=64 * 1024 * 1024,
            )  # fmt: skip
            try:
                found = await subscription.consumer_info()
            except BaseException:
                await end(subscription)
                raise
        return Reading(subscription, self._js, found, self.closed)

    async def make_stream(self, name: str, subject: str, replicas: int) -> None:
        """Creates the stream of events unless it exists.

        :raises HubFailed: when it cannot be created.
        """
        await self._make(
            js_api.StreamConfig(
                name=name, subjects=[subject], num_replicas=replicas, allow_direct=True,
                discard=js_api.DiscardPolicy.NEW, deny_delete=True,
            )
        )  # fmt: skip

    async def make_bucket(self, bucket: str, replicas: int, ttl_s: float = 0) -> None:
        """Creates a bucket unless it exists. An entry expires `ttl_s` seconds after it was written;
        0: never.

        :raises HubFailed: when it cannot be created.
        """
        await self._make(
            js_api.StreamConfig(
                name=f"KV_{bucket}", subjects=[f"$KV.{bucket}.>"], max_msgs_per_subject=1,
                max_age=ttl_s, num_replicas=replicas, allow_direct=True, allow_rollup_hdrs=True,
                deny_delete=True, discard=js_api.DiscardPolicy.NEW,
            )
        )  # fmt: skip

    async def _make(self, config: js_api.StreamConfig) -> None:
        with failures():
            try:
                await self._js.stream_info(str(config.name))
            except nats.js.errors.NotFoundError:
                await self._js.add_stream(config)


@asynccontextmanager
async def connected(place: Place) -> AsyncGenerator[Hub]:
    """Yields a connection to one of the servers.

    :raises HubUnreachable: when no server accepts it.
    :raises CredentialsUnusable: when others can read the credentials.
    """
    servers = random.sample(place.servers, len(place.servers))
    try:
        with anyio.fail_after(CONNECT_DEADLINE_S):
            while True:
                try:
                    hub, client = await _connect(place, servers)
                    break
                except HubUnreachable:
                    # The client tries the next where nothing listens, but not where a server hangs.
                    servers.pop(0)
                    if not servers:
                        raise
    except TimeoutError:
        raise HubUnreachable(f"{', '.join(place.servers)}: no answer") from None
    try:
        yield hub
    finally:
        await _close(client)


async def _connect(place: Place, servers: list[str]) -> tuple[Hub, NatsClient]:
    client, closed, problems = _Client(), anyio.Event(), list[str]()
    identity = _identity(place.credentials)

    async def on_error(error: Exception) -> None:
        problems[:] = [*problems[-7:], str(error) or type(error).__name__]

    async def on_closed() -> None:
        closed.set()

    try:
        await client.connect(
            servers, name=f"trimpoint {place.name}", allow_reconnect=False,
            max_reconnect_attempts=1, reconnect_time_wait=1, connect_timeout=_ONE_SERVER_S,
            dont_randomize=True, error_cb=on_error, closed_cb=on_closed,
            disconnected_cb=on_closed, inbox_prefix=place.inbox_prefix, ping_interval=5,
            max_outstanding_pings=2, pending_size=4 * 1024 * 1024, tls=_tls(place),
            user_credentials=identity.jwt, nkeys_seed=identity.seed,
        )  # fmt: skip
    except (OSError, nats.errors.Error, TimeoutError) as error:
        await _close(client)
        detail = "; ".join(dict.fromkeys(problems)) or str(error) or type(error).__name__
        raise HubUnreachable(f"{', '.join(place.servers)}: {detail}") from error
    except BaseException:
        await _close(client)
        raise
    return Hub(client, closed, problems, place.domain), client


class _Client(NatsClient):
    """A client that tells no server who it is before the connection is as its address says. The
    one of nats encrypts only if the server's greeting asks for it, which anybody on the line can
    change.
    """

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        server = self._current_server
        scheme = server.uri.scheme if server is not None else ""
        if initial_connection and scheme == "tls" and not info.get("tls_required"):
            raise nats.errors.Error("the server does not encrypt, and its address begins with tls:")
        await super()._process_info(info, initial_connection)


async def _close(client: NatsClient) -> None:
    with anyio.CancelScope(shield=True), suppress(Exception), anyio.move_on_after(2):
        await client.close()


def _tls(place: Place) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=place.ca) if place.ca is not None else None


class _Identity(NamedTuple):
    """Credentials in the form that the nats client takes: a JWT with its key, or the seed of an
    NKEY.
    """

    jwt: str | None = None
    seed: str | None = None


def read_credentials(path: Path) -> str:
    """Returns the content of a credentials file. As ssh does with keys, one of this user that
    others may read is refused; another user's, such as root's in a container, is not judged.

    :raises OSError: when the file cannot be read.
    :raises CredentialsUnusable: when others can read it.
    """
    with path.open(encoding="utf-8") as file:
        found = os.fstat(file.fileno())
        if found.st_uid == os.geteuid() and found.st_mode & 0o077:
            raise CredentialsUnusable(path, stat.S_IMODE(found.st_mode))
        return file.read()


def _identity(credentials: Path | None) -> _Identity:
    """Reads a credentials file; see `read_credentials`."""
    if credentials is None:
        return _Identity()
    if "BEGIN NATS USER JWT" in read_credentials(credentials):
        return _Identity(jwt=str(credentials))
    return _Identity(seed=str(credentials))
