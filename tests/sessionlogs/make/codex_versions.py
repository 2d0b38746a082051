"""Drives `codex exec` of a version whose app-server the other scenes do not know, through an
automatic compaction, and keeps the rollout.

    python -m tests.sessionlogs.make.codex_versions CODEX OUT

Made with 0.63.0, 0.98.0 and 0.137.0 of npm's `@openai/codex`.
"""

import shutil
import sys
import tempfile
from pathlib import Path

import anyio
import msgspec
from trimpoint.testkit import (
    Script,
    ScriptedModel,
    codex_environment,
    codex_overrides,
    run,
    say,
)
from trimpoint.testkit.codex_home import config_flags, throwaway_codex_home
from trimpoint.testkit.replies import Usage

from tests.sessionlogs.make.cleaning import clean_lines, write
from tests.sessionlogs.make.codex_stage import LIMIT

SCENE = "compacted-automatically"


async def make(codex: str, out: Path) -> None:
    """Plays the scene and writes what came of it below `out`."""
    folder = out / SCENE
    shutil.rmtree(folder, ignore_errors=True)
    script = Script(summary="SUMMARY")
    with tempfile.TemporaryDirectory() as cwd:
        async with throwaway_codex_home() as home, ScriptedModel(script) as model:
            overrides = [*codex_overrides(model), *LIMIT, 'approval_policy="never"']
            command = [codex, "exec", *config_flags(overrides), "--skip-git-repo-check"]
            for number, text in enumerate(("first", "second", "third", "fourth")):
                if text == "second":
                    large = Usage(input_tokens=9_500)
                    script.then(run("echo tool-output"), say("it has answered", usage=large))
                again = ["resume", "--last"] if number else []
                await anyio.run_process(
                    [*command, *again, text], cwd=cwd, env=codex_environment(home), input=b""
                )
            replaced = {cwd: "/home/you/project", str(home): "/home/you/.codex"}
            for path in (home / "sessions").rglob("rollout-*"):
                cleaned = clean_lines(path.read_bytes(), replaced)
                write(folder, str(path.relative_to(home)), cleaned)
            inputs = [
                {"kind": request.kind, "input": request.body["input"]} for request in model.requests
            ]
            write(folder, "inputs.json", clean_lines(msgspec.json.encode(inputs), replaced))


if __name__ == "__main__":
    anyio.run(make, sys.argv[1], Path(sys.argv[2]))
