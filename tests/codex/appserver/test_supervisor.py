"""The link to Codex while its daemon is ending."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.supervisor import (
    HEALTHY_AFTER_S,
    CodexLink,
    ProviderUnavailable,
)

from tests.deadlines import SCENARIO_S, STEP_S
from tests.simulation.loop import run_without_clock


async def test_a_request_after_the_daemon_began_to_end_is_refused_at_once() -> None:
    profile = LaunchProfile(Path("codex"), (), None, ())
    link = CodexLink(profile, None, request_deadline_s=SCENARIO_S)
    nobody_listens: Any = None
    async with anyio.create_task_group() as tasks:
        link.start(tasks, nobody_listens)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    with anyio.fail_after(STEP_S), pytest.raises(ProviderUnavailable, match="its daemon ends"):
        await link.request("thread/delete")


def test_a_codex_that_hangs_while_it_starts_is_started_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began_s: list[float] = []

    async def hangs(link: CodexLink) -> str:
        began_s.append(anyio.current_time())
        await anyio.sleep(2 * HEALTHY_AFTER_S)
        link.wake()
        return "it did not answer"

    monkeypatch.setattr(CodexLink, "_run_epoch", hangs)

    async def main() -> None:
        link = CodexLink(LaunchProfile(Path("codex"), (), None, ()), None, request_deadline_s=1)
        nobody_listens: Any = None
        async with anyio.create_task_group() as tasks:
            link.start(tasks, nobody_listens)
            link.wake()
            await anyio.sleep(6 * 2 * HEALTHY_AFTER_S)
            tasks.cancel_scope.cancel()

    run_without_clock(main)
    pauses = [late - early - 2 * HEALTHY_AFTER_S for early, late in pairwise(began_s)]
    assert pauses[3] > 4 * pauses[0]
