"""Fixtures with a whole daemon, the real Codex and a scripted model."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import msgspec
import pytest
from anyio.abc import TaskGroup, TaskStatus
from trimpoint.app import running_daemon
from trimpoint.cli.connection.client import Client, connect
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.config.sections import CodexSection, CompactionSection, Config, ThreadsSection
from trimpoint.processes import RUNNING_CHILDREN
from trimpoint.system import SYSTEM
from trimpoint.testkit import (
    Script,
    ScriptedModel,
    codex_environment,
    codex_overrides,
    remote_overrides,
)
from trimpoint.transport.listeners import serve_unix

from tests.codex_homes import BUNDLED_CODEX, used_codex_home
from tests.e2e.conversation import Conversation
from tests.effort import longer

# Set: the daemon is restarted before each act of every conversation, and reads snapshots instead of
# journals.
RESTARTS_VARIABLE = "TRIMPOINT_E2E_RESTARTS"


# Another binary, to run the same tests against another version of Codex.
CODEX_BIN = Path(os.environ.get("TRIMPOINT_TEST_CODEX") or BUNDLED_CODEX)


class Harness:
    """The environment of a test's daemons: state, sockets, a worktree and a `CODEX_HOME` that
    outlive a daemon.
    """

    def __init__(
        self,
        folder: Path,
        codex_home: Path,
        model: ScriptedModel,
        script: Script,
        overrides: list[str],
    ) -> None:
        self.state_dir = folder / "state"
        self.socket = folder / "s" / "t.sock"
        self.worktree = folder / "worktree"
        self.home = folder / "home"
        self.worktree.mkdir()
        self.home.mkdir()
        self.codex_home = codex_home
        self.model = model
        self.script = script
        self.overrides = overrides
        self.config = Config(
            codex=CodexSection(), compaction=CompactionSection(min_messages=2, deadline_s=30.0)
        )
        self.restarts = False
        # Of a daemon that several tests share: whether it runs no longer.
        self.has_ended: Callable[[], bool] = lambda: False

    @property
    def profile(self) -> LaunchProfile:
        # The login shells that Codex runs commands in must not depend on whose machine this is.
        environment = tuple((codex_environment(self.codex_home) | {"HOME": str(self.home)}).items())
        return LaunchProfile(CODEX_BIN, tuple(self.overrides), self.codex_home, environment)

    def child_pid(self, profile: str = "") -> int:
        """Returns the process id of the recorded Codex; with `profile`, of that launch profile's
        Codex.
        """
        if SYSTEM.boot_id() == "":  # where nothing is recorded
            [pid] = RUNNING_CHILDREN
            return pid
        [record] = self.state_dir.glob(f"child-{profile}*")
        return int(msgspec.json.decode(record.read_bytes())["pid"])

    @asynccontextmanager
    async def daemon(self) -> AsyncGenerator[None]:
        """Runs a daemon until the block ends."""
        async with (
            running_daemon(self.config, self.state_dir, self.profile) as daemon,
            anyio.create_task_group() as tasks,
        ):
            await tasks.start(partial(serve_unix, self.socket, daemon.serve))
            yield
            tasks.cancel_scope.cancel()

    @asynccontextmanager
    async def client(self, name: str = "test", **capabilities: object) -> AsyncGenerator[Client]:
        """Yields an initialized client."""
        async with connect(self.socket) as client:
            await client.initialize(name, **capabilities)
            yield client

    @asynccontextmanager
    async def conversation(self) -> AsyncGenerator[Conversation]:
        """Yields a conversation with a daemon, a client and a thread. With `restarts`, each act has
        its own daemon.
        """
        async with anyio.create_task_group() as tasks:
            lives = DaemonLives(self, tasks)
            await lives.begin()
            talk = await Conversation.begin(lives.client, self.worktree, self.model, self.script)
            talk.before_act = lives.begin_anew if self.restarts else None
            talk.restarts_at_each = longer() > 1
            yield talk
            await lives.end()

    def restart_before_each_act(self) -> None:
        """Restarts the daemon before each act, and has every record read back from a snapshot."""
        self.restarts = True
        self.config = msgspec.structs.replace(
            self.config, threads=ThreadsSection(snapshot_after_records=1)
        )


class SharedHarness(Harness):
    """A test's harness on a daemon that runs for all tests of a module: with a worktree, a script
    and a list of model requests of its own, and threads of other tests beside its own.
    """

    def __init__(self, running: Harness, folder: Path, script: Script) -> None:
        super().__init__(folder, running.codex_home, running.model, script, running.overrides[:])
        self.state_dir, self.socket = running.state_dir, running.socket
        self._running = running
        self._is_begun = False
        self.model.requests.clear()
        self.model._respond = script

    @asynccontextmanager
    async def daemon(self) -> AsyncGenerator[None]:
        """Does nothing: the daemon runs."""
        settings = (self.config, self.overrides)
        assert settings == (self._running.config, self._running.overrides), (
            "The test sets up its daemon: mark it own_daemon."
        )
        assert not self._is_begun, "The test starts a daemon again: mark it own_daemon."
        self._is_begun = True
        yield


class DaemonLives:
    """A daemon and a client of it, which can be replaced by the next ones during a test.

    Each pair runs in its own task, so that a test may replace it within any cancel scope.
    """

    def __init__(self, harness: Harness, tasks: TaskGroup) -> None:
        self.client: Client
        self._house = harness
        self._tasks = tasks
        self._over = anyio.Event()
        self._ended = anyio.Event()

    async def begin(self) -> None:
        """Starts a daemon and connects to it."""
        self._over, self._ended = anyio.Event(), anyio.Event()
        self.client = await self._tasks.start(self._live)

    async def begin_anew(self) -> Client:
        """Ends the daemon, starts the next one, and returns its client."""
        await self.end()
        await self.begin()
        return self.client

    async def end(self) -> None:
        """Ends the daemon, and waits for its end."""
        self._over.set()
        await self._ended.wait()

    async def _live(self, *, task_status: TaskStatus[Client]) -> None:
        async with self._house.daemon(), self._house.client() as client:
            task_status.started(client)
            await self._over.wait()
        self._ended.set()


Overrides = Callable[[ScriptedModel], list[str]]


def _new_script() -> Script:
    return Script(summary="The gist of it all.", encrypted_summary="SEALED")


@asynccontextmanager
async def opened_harness(
    overrides: Overrides = codex_overrides, script: Script | None = None
) -> AsyncGenerator[Harness]:
    """Yields a harness with a new `CODEX_HOME`."""
    script = script or _new_script()
    with TemporaryDirectory(prefix="tp") as folder:
        async with used_codex_home(CODEX_BIN) as codex_home, ScriptedModel(script) as model:
            yield Harness(Path(folder), codex_home, model, script, overrides(model))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "own_daemon: sets up or ends its daemon, lists all threads, or the like"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs a test marked `also_restarted` a second time, with a restart before each act."""
    marked = metafunc.definition.get_closest_marker
    if marked("also_restarted") is not None and marked("never_restarted") is None:
        for name in {"harness", "sealed_harness"}.intersection(metafunc.fixturenames):
            metafunc.parametrize(name, ["", "restarted"], indirect=True)


def _restarts(request: pytest.FixtureRequest) -> bool:
    everywhere = (
        os.environ.get(RESTARTS_VARIABLE)
        and request.node.get_closest_marker("never_restarted") is None
    )
    return bool(getattr(request, "param", "") or everywhere)


def _set_up(opened: Harness, request: pytest.FixtureRequest) -> Harness:
    if _restarts(request):
        opened.restart_before_each_act()
    return opened


@pytest.fixture(scope="module")
async def running_harness() -> AsyncGenerator[Harness]:
    """Yields the harness whose daemon the tests of a module share. A module says so with
    `pytest.mark.usefixtures("running_harness")`; what needs a daemon of its own is marked
    `own_daemon`.
    """
    opened: asyncio.Future[Harness] = asyncio.get_running_loop().create_future()
    over = anyio.Event()

    async def live() -> None:
        async with opened_harness() as running, running.daemon():
            opened.set_result(running)
            await over.wait()

    # No task group: what fails in the daemon fails its test, and must not cancel those after it.
    task = asyncio.create_task(live())
    await asyncio.wait([opened, task], return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    running = opened.result()
    running.has_ended = task.done
    yield running
    over.set()
    await task


@pytest.fixture
async def harness(request: pytest.FixtureRequest) -> AsyncGenerator[Harness]:
    own = "running_harness" not in request.fixturenames or _restarts(request)
    own = own or request.node.get_closest_marker("own_daemon") is not None
    if own or request.getfixturevalue("running_harness").has_ended():
        async with opened_harness() as opened:
            yield _set_up(opened, request)
        return
    with TemporaryDirectory(prefix="tp") as folder:
        yield SharedHarness(request.getfixturevalue("running_harness"), Path(folder), _new_script())


@pytest.fixture
async def sealed_harness(request: pytest.FixtureRequest) -> AsyncGenerator[Harness]:
    """Yields a harness whose provider seals compaction summaries."""
    async with opened_harness(remote_overrides) as opened:
        yield _set_up(opened, request)
