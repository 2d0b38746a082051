import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import anyio
import pytest
from trimpoint.service.notify import Notifier, notifier_from, reported

from tests.service.service_manager import Manager


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    address = f"@trimpoint-test-{os.getpid()}" if request.param == "abstract" else f"{tmp_path}/n"
    with closing(Manager(address)) as opened:
        yield opened


def test_notifications_reach_a_path_and_an_abstract_address(manager: Manager) -> None:
    with closing(notifier_from({"NOTIFY_SOCKET": manager.address}, 1)) as notifier:
        notifier.status("two\nlines,  one")
        notifier.ready()
        notifier.alive()
        notifier.stopping()
    assert manager.heard() == ["STATUS=two lines, one", "READY=1", "WATCHDOG=1", "STOPPING=1"]


def test_a_status_is_sent_when_it_changes_and_cut_when_it_is_long(manager: Manager) -> None:
    with closing(Notifier(manager.address)) as notifier:
        for text in ("one", "one", "x" * 5000):
            notifier.status(text)
    assert manager.heard() == ["STATUS=one", "STATUS=" + "x" * 200]


def test_its_variables_are_not_left_to_what_the_daemon_starts() -> None:
    environ = {
        "NOTIFY_SOCKET": "/run/n",
        "WATCHDOG_USEC": "1000000",
        "WATCHDOG_PID": "7",
        "HOME": "/h",
    }
    with closing(notifier_from(environ, 7)) as notifier:
        assert notifier.watchdog_s == 1.0
    assert environ == {"HOME": "/h"}


@pytest.mark.parametrize(
    ("usec", "pid", "watchdog_s"),
    [
        ("500000", "7", 0.5),
        ("500000", "", 0.5),
        ("500000", "8", None),
        ("", "7", None),
        ("0", "7", None),
        ("often", "7", None),
    ],
)
def test_a_watchdog_is_ours_if_it_waits_for_this_process(
    usec: str, pid: str, watchdog_s: float | None
) -> None:
    environ = {"NOTIFY_SOCKET": "/run/n", "WATCHDOG_USEC": usec, "WATCHDOG_PID": pid}
    with closing(notifier_from(environ, 7)) as notifier:
        assert notifier.watchdog_s == watchdog_s


@pytest.mark.parametrize("address", ["", "relative/path", "vsock:2:1234"])
def test_without_a_service_manager_nothing_is_sent(address: str) -> None:
    notifier = notifier_from({"NOTIFY_SOCKET": address}, 1)
    assert not notifier.has_receiver
    notifier.ready()
    notifier.close()


def test_a_service_manager_that_went_away_is_no_trouble(tmp_path: Path) -> None:
    with closing(Notifier(f"{tmp_path}/nobody")) as notifier:
        notifier.ready()
        notifier.close()
        notifier.ready()


def test_a_service_manager_that_does_not_read_is_not_waited_for(tmp_path: Path) -> None:
    with closing(Manager(f"{tmp_path}/n")) as deaf, closing(Notifier(deaf.address)) as notifier:
        for _ in range(5000):
            notifier.alive()
        assert 0 < len(deaf.heard()) < 5000


async def test_while_it_runs_the_status_follows_and_the_watchdog_is_fed_until_the_end_is_announced(
    tmp_path: Path,
) -> None:
    states = iter(["1 client", "2 clients"])
    with closing(Manager(f"{tmp_path}/n")) as manager:
        notifier = Notifier(manager.address, watchdog_s=0.02)
        async with reported(notifier, lambda: next(states, "3 clients")):
            said = [await manager.hears() for _ in range(8)]
        ended = manager.heard()
        notifier.close()
    assert said[:4] == ["STATUS=1 client", "READY=1", "WATCHDOG=1", "STATUS=2 clients"]
    assert said.count("STATUS=3 clients") == 1
    assert said.count("WATCHDOG=1") >= 3
    assert ended[-2:] == ["STOPPING=1", "STATUS=Stopping."]


async def test_a_loop_that_does_not_turn_gives_no_sign_of_life(tmp_path: Path) -> None:
    with closing(Manager(f"{tmp_path}/n")) as manager:
        notifier = Notifier(manager.address, watchdog_s=0.02)
        async with reported(notifier, lambda: "fine"):
            while await manager.hears() != "WATCHDOG=1":
                pass
            manager.heard()
            ticking = anyio.current_time() + 0.1
            while anyio.current_time() < ticking:
                pass  # what a stuck loop does
            assert manager.heard() == []
            assert await manager.hears() == "WATCHDOG=1"
        notifier.close()


async def test_a_failure_while_running_is_reported_as_stopping(tmp_path: Path) -> None:
    with (
        closing(Manager(f"{tmp_path}/n")) as manager,
        closing(Notifier(manager.address)) as notifier,
    ):
        with pytest.raises(BaseExceptionGroup) as caught:
            async with reported(notifier, lambda: "fine"):
                raise ValueError("a defect")
        assert caught.group_contains(ValueError, match="a defect")
        assert manager.heard()[-2:] == ["STOPPING=1", "STATUS=Stopping."]


async def test_a_notifier_without_receiver_does_nothing() -> None:
    async with reported(Notifier(), lambda: pytest.fail("nobody asked")):
        pass
