"""Runs one Codex for each launch profile: started when it is first needed, and ended when it is no
longer needed.

Always true: a client is served by the Codex that it asked for, and a thread by the one that it was
begun with. Each Codex has its own link, routes, operations and handles, which see only the threads
of its launch profile and end with it. Its durable state is in the journals, as when the daemon
itself ends, so the next Codex of the profile continues it.
"""

import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
import structlog
from anyio.abc import TaskGroup, TaskStatus
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.locations import HomeUnknown, home
from trimpoint_protocol.methods import ProfileChosen, ProfileParams

from trimpoint import __version__
from trimpoint.background import spawn
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.launch_requests import (
    LaunchRequest,
    codex_home,
    decode_launch_request,
    is_same_path,
    resolve_launch,
)
from trimpoint.codex.appserver.locate import CodexNotFound, CodexUnusable, find_codex
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.config.sections import Config
from trimpoint.gateway.client_side import build_client_side
from trimpoint.gateway.gateway import ProfileRoutes
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.profiles import ProfileParts, RunningProfile, RunningProfiles
from trimpoint.gateway.routes import DaemonDeps, RouteDeps, build_routes
from trimpoint.gateway.session.clients import Clients
from trimpoint.gateway.session.codex_tui import is_open_in_codex_tui
from trimpoint.gateway.session.handshake import PATIENCE_AS_CODEX_S, PATIENCE_S, Handshake
from trimpoint.gateway.session.pace import Pace
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.experimental_gate import ExperimentalGate
from trimpoint.gateway.session.unused import Work
from trimpoint.operations.build import Files, build_operations
from trimpoint.operations.provider.settings import compact_limit
from trimpoint.threads.catalogue import is_unfinished
from trimpoint.threads.registry import ThreadRegistry

log = structlog.get_logger()

_LOOK_AGAIN_S = 5.0


class SharedParts(NamedTuple):
    """The objects that all launch profiles share."""

    registry: ThreadRegistry
    clients: Clients
    identity: Identity
    files: Files
    daemon: DaemonDeps
    state_dir: Path

    @property
    def running(self) -> RunningProfiles:
        """Returns the running launch profiles."""
        return self.daemon.profiles


class _Built(NamedTuple):
    """The objects that were built for one Codex. `registry` is the registry with only the profile's
    threads.
    """

    served: ProfileRoutes
    registry: ThreadRegistry


class _Live:
    """A running launch profile. Set `is_unwanted` to end it; `gone` is set when it has ended."""

    def __init__(self, built: _Built) -> None:
        self.served, self.registry = built
        self.is_unwanted = anyio.Event()
        self.gone = anyio.Event()


class Profiles:
    """Starts and ends launch profiles, at most `codex.max_profiles` beside the daemon's own.
    Implements `trimpoint.gateway.gateway.Profiles`.
    """

    def __init__(
        self, default: LaunchProfile, parts: SharedParts, config: Config, tasks: TaskGroup
    ) -> None:
        self.running = parts.running
        self._default_launch = default
        self._parts = parts
        self._config = config
        self._tasks = tasks
        self._keys: dict[bytes, str] = {}
        self._live: dict[str, _Live] = {}
        self._starting = anyio.Lock()
        self.default = self._build(b"", tasks).served

    def resume(self) -> None:
        """Starts the launch profiles of threads on which an earlier daemon left work unfinished."""
        for writer in self._parts.registry.loaded_writers():
            launch = writer.state.launch
            if self.key_of(launch) and writer.read_only is None and is_unfinished(writer.state):
                spawn(self._tasks, self._wake, launch)

    def key_of(self, launch: bytes) -> str:
        """Returns the key of the launch profile for an encoded launch request; empty for the
        daemon's own.
        """
        if not launch:
            return ""
        key = self._keys.get(launch)
        if key is None:
            profile = self._launch_of(launch)
            key = "" if profile == self._default_launch else profile.key
            self._keys[launch] = key
        return key

    def choose(self, params: ProfileParams) -> bytes:
        """Returns a client's launch request, encoded as in journals.

        :raises Refusal: when a path is not absolute, there is no such Codex, or an override is not
            of the form key=value.
        """
        request = LaunchRequest(
            tuple(params.overrides), _binary(params.codex), self._own_home(params.codex_home)
        )
        for path in (params.codex, params.codex_home):
            if path is not None and not os.path.isabs(path):
                raise Refusal(Reason.INVALID_PARAMS, f"{path!r} is not an absolute path.")
        for override in params.overrides:
            if not override.partition("=")[0].strip() or "=" not in override:
                raise Refusal(Reason.INVALID_PARAMS, f"{override!r} is not of the form key=value.")
        return request.encode()

    def _own_home(self, asked: str | None) -> str | None:
        """Returns the `CODEX_HOME` that a client asks for, or None if it is the default one.

        With None, threads follow the user's home folder if that is moved.
        """
        with suppress(HomeUnknown):
            usual = home(os.environ) / ".codex"
            if (
                asked is not None
                and is_same_path(asked, usual)
                and is_same_path(asked, codex_home(self._default_launch, os.environ))
            ):
                return None
        return asked

    def chosen(self, key: str) -> ProfileChosen:
        """Returns the answer for a client that has chosen the launch profile with this key."""
        return ProfileChosen(
            profile=key,
            pid=os.getpid(),
            state_dir=self._parts.daemon.state_dir,
            version=__version__,
        )

    @asynccontextmanager
    async def using(self, launch: bytes) -> AsyncGenerator[ProfileRoutes]:
        """Yields the routes of a launch request's profile. Starts its Codex if necessary, and keeps
        it running until the block ends.

        :raises Refusal: when too many other profiles are in use.
        """
        served = await self._served(launch) if launch else self.default
        served.profile.requests += 1
        try:
            yield served
        finally:
            served.profile.requests -= 1

    async def _served(self, launch: bytes) -> ProfileRoutes:
        key = self.key_of(launch)
        if not key:
            return self.default
        live = self._live.get(key)
        if live is None or live.is_unwanted.is_set():
            async with self._starting:
                live = await self._started(key, launch)
        return live.served

    async def _started(self, key: str, launch: bytes) -> _Live:
        while (live := self._live.get(key)) is not None:
            if not live.is_unwanted.is_set():
                return live
            await live.gone.wait()
        while len(self._live) >= self._config.codex.max_profiles:
            await self._make_room(launch)
        await self._tasks.start(self._run, launch)
        return self._live[key]

    async def _make_room(self, launch: bytes) -> None:
        """Ends a launch profile that is not needed at present.

        :raises Refusal: when all are needed.
        """
        for live in list(self._live.values()):
            if live.is_unwanted.is_set() or not await self._is_needed(live):
                live.is_unwanted.set()
                await live.gone.wait()
                return
        raise Refusal(
            Reason.TOO_MANY_PROFILES,
            f"{len(self._live)} other Codex configurations are in use, and no more may be.",
            "End a client of one of them (`trimpoint daemon status` lists them), or raise "
            "max_profiles in the [codex] table of the configuration.",
        )

    async def _run(self, launch: bytes, *, task_status: TaskStatus[None]) -> None:
        key = self.key_of(launch)
        async with anyio.create_task_group() as tasks:
            live = self._live[key] = _Live(self._build(launch, tasks))
            log.info("profile_started", profile=key)
            task_status.started()
            try:
                await self._unneeded(live)
            finally:
                live.is_unwanted.set()
                self.running.remove(live.served.profile)
                # Also when the daemon ends: records that become durable then have no task left.
                live.registry.close()
                tasks.cancel_scope.cancel()
        ended = self._live.pop(key)
        ended.gone.set()
        log.info("profile_ended", profile=key)

    async def _unneeded(self, live: _Live) -> None:
        """Waits until the launch profile was not needed for `idle_s` seconds, or has to end for
        another one.
        """
        idle_s, unused_since = self._config.codex.profile_idle_s, anyio.current_time()
        while not live.is_unwanted.is_set():
            with anyio.move_on_after(min(idle_s, _LOOK_AGAIN_S)):
                await live.is_unwanted.wait()
            if self._is_in_use(live):
                unused_since = anyio.current_time()
            elif anyio.current_time() - unused_since >= idle_s and not await self._is_needed(live):
                return

    async def _is_needed(self, live: _Live) -> bool:
        """Returns whether a client uses the launch profile, or it has work under way.

        Between the last check and a return of False nothing is awaited.
        """
        is_working = self._is_in_use(live) or await live.served.profile.is_working()
        return is_working or self._is_in_use(live)

    def _is_in_use(self, live: _Live) -> bool:
        profile = live.served.profile
        return profile.requests > 0 or any(
            client.profile == profile.key
            or any(map(profile.owns, client.threads | client.followed.keys()))
            for client in self._parts.clients.all()
        )

    async def _wake(self, launch: bytes) -> None:
        try:
            async with self.using(launch):
                pass  # it continues its open operations when it starts, and runs until they end
        except Refusal as refusal:
            log.warning("profile_not_resumed", detail=refusal.message)

    def _launch_of(self, launch: bytes) -> LaunchProfile:
        return resolve_launch(self._default_launch, decode_launch_request(launch), os.environ)

    def _owns(self, key: str, thread_id: str) -> bool:
        launch = self._parts.registry.launches.get(thread_id)
        return (self.key_of(launch) if launch is not None else "") == key

    def _build(self, launch: bytes, tasks: TaskGroup) -> _Built:
        parts, codex, key = self._parts, self._config.codex, self.key_of(launch)
        owns = partial(self._owns, key)
        link = CodexLink(self._launch_of(launch), parts.state_dir, codex.request_deadline_s)
        compacts_at = compact_limit(link.profile.overrides)
        policy = msgspec.structs.replace(parts.registry.policy, provider_compacts_at=compacts_at)
        registry = parts.registry.part(owns, policy)
        pace = Pace(link.pause_reading, link.resume_reading)
        clients = parts.clients.of_profile(key, pace)
        side = build_client_side(registry, link, clients, parts.identity)
        operations = build_operations(
            registry,
            link,
            side.codex_events,
            parts.files,
            self._config.compaction,
            partial(is_open_in_codex_tui, clients),
            tasks,
        )
        deps = RouteDeps(registry, link, operations, side, self._keeps(link.profile), parts.daemon)
        routes = build_routes(deps, tasks)
        kept = ProfileParts(
            side.handles,
            side.server_requests,
            side.own_questions,
            side.startup,
            Work(registry, link),
        )
        request = decode_launch_request(launch)
        is_sub_agent = operations.router.is_sub_agent
        profile = RunningProfile(key, request, link, kept, owns, is_sub_agent)
        self.running.add(profile)
        link.start(tasks, operations.router)
        operations.reactions.resume()
        handshake = Handshake(link, PATIENCE_AS_CODEX_S if codex.control_socket else PATIENCE_S)
        served = ProfileRoutes(profile, routes, handshake, ExperimentalGate(link))
        return _Built(served, registry)

    def _keeps(self, profile: LaunchProfile) -> Callable[[str], bool]:
        """Returns a function that tells, for a thread's id, whether the thread is stored in the
        profile's `CODEX_HOME`.
        """
        home, launches = codex_home(profile, os.environ), self._parts.registry.launches

        @cache
        def is_home_of(launch: bytes) -> bool:
            return is_same_path(codex_home(self._launch_of(launch), os.environ), home)

        return lambda thread_id: is_home_of(launches.get(thread_id, b""))


def _binary(named: str | None) -> str | None:
    """Returns the path of the Codex binary for a path that a client named, or None if it named
    none.

    :raises Refusal: when there is no usable binary.
    """
    if named is None:
        return None
    try:
        return str(find_codex(flag=Path(named)).path)
    except (CodexNotFound, CodexUnusable) as error:
        raise Refusal(Reason.INVALID_PARAMS, f"{error}.", error.hint) from None
