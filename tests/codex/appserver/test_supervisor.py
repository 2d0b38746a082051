"""The link to Codex while its daemon is ending."""

from pathlib import Path
from typing import Any

import anyio
import pytest
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.supervisor import CodexLink, ProviderUnavailable

from tests.deadlines import SCENARIO_S, STEP_S


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
