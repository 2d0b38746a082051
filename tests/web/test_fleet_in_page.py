"""Threads of other machines in the page: a hub with permissions, and a second machine with its own
daemon and Codex. The next input of that machine's model proves a command.
"""

import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from trimpoint.config.sections import FleetSection
from trimpoint.fleet.names import Names
from trimpoint.fleet.roles import Role
from trimpoint.fleet.setup import HubFolder, Members, Node
from trimpoint.testkit import held, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import seen_turns
from tests.fleet.servers import running_server
from tests.fleet.stage import make_streams
from tests.web.browser import needs_browser
from tests.web.stage import staged

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]
MEMBERS = (
    (Role.HOST, "desk"), (Role.HOST, "cloud"), (Role.OPERATOR, "alice"), (Role.VIEWER, "bob"),
)  # fmt: skip


class Team:
    """A hub, and a machine `cloud` that sends all words. `section` is the configuration of other
    machines.
    """

    def __init__(self, url: str, folder: HubFolder, cloud: Harness) -> None:
        self._url, self._folder = url, folder
        self.cloud = cloud
        cloud.config = msgspec.structs.replace(
            cloud.config, fleet=self.section("cloud", content="full")
        )

    def section(
        self, host: str, person: tuple[Role, str] | None = None, **more: Any
    ) -> FleetSection:
        def path(role: Role, name: str) -> str:
            return str(self._folder.credentials_path("team", role, name))

        return FleetSection(
            servers=(self._url,), tenant="team", host=host, credentials=path(Role.HOST, host),
            person_credentials=path(*person) if person is not None else None, **more,
        )  # fmt: skip


@pytest.fixture
async def team(tmp_path: Path) -> AsyncIterator[Team]:
    folder = HubFolder(tmp_path / "hub")
    list(folder.add(Members("team", MEMBERS), (Node("server", "127.0.0.1"),), "127.0.0.1"))
    conf = tmp_path / "hub" / "server.conf"
    admin = folder.credentials_path("team", Role.ADMIN, "admin")
    async with running_server(tmp_path / "hub", conf=conf) as server, opened_harness() as cloud:
        await make_streams(server.url, Names("team"), 1, admin)
        yield Team(server.url, folder, cloud)


async def pictured(page: Any, name: str) -> None:
    """Saves a picture if TRIMPOINT_TEST_PICTURES names a folder."""
    if folder := os.environ.get("TRIMPOINT_TEST_PICTURES"):
        await page.screenshot(path=f"{folder}/{name}.png")


async def test_an_operator_reads_clears_and_interrupts_a_thread_of_another_machine(
    team: Team, browser: Any
) -> None:
    mine = team.section("desk", (Role.OPERATOR, "alice"))
    with anyio.fail_after(SCENARIO_S):
        async with team.cloud.conversation() as talk, staged(browser, fleet=mine) as stage:
            await stage.thread()
            await stage.turns("one?|apple-1.")
            for _ in range(3):
                await talk.turn()
            machine = stage.page.get_by_label("Machine cloud")
            await machine.get_by_role("button").click()
            dialog = stage.page.get_by_role("dialog")
            await dialog.get_by_text("The turn ended: completed").nth(2).wait_for()
            await pictured(stage.page, "fleet-operator")
            await dialog.get_by_role("button", name="Clear").click()
            await dialog.get_by_text("(asked by alice)").wait_for()
            await pictured(stage.page, "fleet-cleared")
            assert seen_turns(await talk.turn(), 3) == []
            talk.script.then(held(say("never"), anyio.Event()))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(talk.prompt, "Work for ever.")
                await dialog.get_by_role("button", name="Interrupt").click()
                await dialog.get_by_text("The turn was interrupted.").wait_for()
            await dialog.get_by_role("button", name="Close").last.click()
            await stage.turns("two?|pear-2.")
            assert stage.page.faults == []


async def test_a_viewer_reads_and_has_no_buttons_also_when_the_machine_is_gone(
    team: Team, browser: Any
) -> None:
    mine = team.section("desk", (Role.VIEWER, "bob"))
    with anyio.fail_after(SCENARIO_S):
        async with staged(browser, fleet=mine, color_scheme="dark") as stage:
            await stage.thread()
            async with team.cloud.conversation() as talk:
                await talk.turn()
                machine = stage.page.get_by_label("Machine cloud")
                await machine.get_by_role("button").click()
                dialog = stage.page.get_by_role("dialog")
                await dialog.get_by_text("The turn ended: completed").wait_for()
            await machine.get_by_text("offline").wait_for()
            await pictured(stage.page, "fleet-viewer")
            for name in ("Clear", "Compact", "Interrupt"):
                assert await dialog.get_by_role("button", name=name).count() == 0
            assert stage.page.faults == []
