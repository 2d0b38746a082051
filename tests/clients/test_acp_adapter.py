"""The official ACP adapter (`@agentclientprotocol/codex-acp`, npm) with trimpoint as its Codex."""

import shutil

import anyio
import pytest

from tests.acp.editor import Editor
from tests.cli.stage import opened_stage
from tests.clients.sdk import launcher
from tests.deadlines import SCENARIO_S
from tests.e2e.expectation import pieces
from tests.tools import VENV, missing

pytestmark = pytest.mark.codex

ADAPTER = VENV / "npm" / "node_modules" / "@agentclientprotocol" / "codex-acp" / "dist" / "index.js"


async def test_the_adapter_has_the_commands_with_trimpoint_as_its_codex() -> None:
    if not ADAPTER.exists() or shutil.which("node") is None:
        missing("@agentclientprotocol/codex-acp")
    async with opened_stage() as stage:
        (stage.codex_home / "config.toml").write_text("\n".join(stage.overrides) + "\n")
        codex = {"CODEX_PATH": launcher(stage, *stage.command()), "NO_BROWSER": "1"}
        with anyio.fail_after(SCENARIO_S), (stage.folder / "adapter.log").open("wb") as log:
            process = await anyio.open_process(
                ["node", str(ADAPTER)],
                env=stage.environment | codex,
                cwd=stage.worktree,
                stderr=log,
            )
            async with process, anyio.create_task_group() as tasks:
                editor = Editor(process)
                tasks.start_soon(editor.read_forever)
                await editor.introduce()
                opened = await editor.request("session/new", cwd=str(stage.worktree), mcpServers=[])
                session_id = opened["sessionId"]
                for word in ("one", "two"):
                    answer = await editor.prompt(session_id, f"Say {word}.")
                    assert answer["stopReason"] == "end_turn"
                await editor.prompt(session_id, "/clear 1")
                assert "the last turn kept" in editor.said()
                await editor.prompt(session_id, "Say three.")
                process.kill()
    shown = [piece.text for piece in pieces(stage.model.turn_requests()[-1].input)]
    assert "Say one." not in shown
    assert "Say two." in shown
    assert "/clear 1" not in shown
