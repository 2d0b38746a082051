"""What-if on logs and a journal that the real Codex has filled: each call of the model is one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread
from trimpoint.cli.main import main
from trimpoint.testkit import run, say

from tests.e2e.conftest import Harness

pytestmark = [pytest.mark.codex, pytest.mark.own_daemon]
WORDS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LONG = "for i in $(seq 3000); do echo line-$i-of-{}; done"


@pytest.fixture
def counted(
    harness: Harness,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Callable[..., Any]:
    monkeypatch.setenv("CODEX_HOME", str(harness.codex_home))
    for name in ("CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME"):
        monkeypatch.setenv(name, str(tmp_path))

    def what_if(*arguments: str, settings: str = "") -> dict[str, Any]:
        config = tmp_path / "config.toml"
        config.write_text(settings)
        state = str(harness.state_dir)
        named = ["--config", str(config), "--state-dir", state]
        assert main(["sessions", "what-if", "--json", *named, *arguments]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])["groups"]
        return found

    return what_if


async def test_a_thread_is_one_session_with_the_calls_that_the_model_was_sent(
    harness: Harness, counted: Callable[..., Any]
) -> None:
    async with harness.conversation() as talk:
        for word in WORDS:
            long = run(LONG.format(word))
            talk.script.then(long, long, say(f"answer-{word}."))
            await talk.prompt(f"prompt-{word}.")
        before = len(talk.model.requests)
        await talk.complete("/clear 2")
        talk.script.then(run("echo line-1-of-two"), say("again."))
        await talk.prompt("again.")
    calls = len(talk.model.requests)
    assert (before, calls) == (27, 29)
    found = await to_thread.run_sync(counted)
    assert set(found) == {"all", "trimpoint"}
    assert found["all"]["sessions"] == 1
    none = found["all"]["policies"]["none"]
    assert (none["calls"], none["masks"], none["compactions"]) == (calls, 0, 0)
    soon = "[context]\nmask_at = 0.1\nkeep_turns = 1\nwarning_at = 0.1\ncritical_at = 0.1"
    masked = (await to_thread.run_sync(lambda: counted(settings=soon)))["all"]["policies"]["mask"]
    assert masked["masks"] > 0, (none, masked)
    assert masked["sentTokens"] < none["sentTokens"]
    assert masked["turnsThatAskedForMasked"] == 1, (
        "the last turn names a line of the second's output"
    )
    logs = await to_thread.run_sync(lambda: counted("--agent", "codex"))
    assert logs["codex"]["sessions"] == 2, "what the thread was before the trim, and since"
    assert logs["codex"]["policies"]["none"]["calls"] == calls + 6, "two turns were given again"
