"""A daemon does not load modules that only commands for people need."""

import os
import subprocess
import sys

import anyio
import pytest
from trimpoint.cli.connection.client import connect

from tests.cli.stage import DEADLINE_S, ROOT, CliHarness

pytestmark = pytest.mark.processes

# argparse comes with the command line, before it is known which command it is.
NOT_FOR_THE_DAEMON = (
    "h11",
    "nats",
    "nkeys",
    "prometheus_client",
    "pygments",
    "rich",
    "sqlite3",
    "trimpoint.demo",
    "trimpoint.fleet",
    "trimpoint.testkit",
    "websockets",
)
# jsonrpcserver imports the first two, and a daemon imports that when its first client comes.
NOT_AT_START = (
    "http.server",
    "jsonschema",
    "trimpoint.sessionlogs.claude.reader",
    "trimpoint.sessionlogs.codex.reader",
    "trimpoint.sessionlogs.gemini.reader",
)
PROGRAM = f"""
import sys
from trimpoint.cli.main import main
code = main()
names = (*{NOT_FOR_THE_DAEMON!r}, "jsonschema")
print("loaded:", *(name for name in names if name in sys.modules), flush=True)
sys.exit(code)
"""


@pytest.mark.parametrize("requests", [(), ("sidecar/status",)])
async def test_a_daemon_imports_nothing_for_people_and_what_a_call_needs_when_a_client_comes(
    stage: CliHarness, requests: tuple[str, ...]
) -> None:
    command = [sys.executable, "-c", PROGRAM, "serve", *stage.flags]
    async with await anyio.open_process(
        command, env=stage.environment, cwd=stage.worktree
    ) as process:
        assert process.stdout is not None
        with anyio.fail_after(DEADLINE_S):
            said = b""
            while not said.endswith(b"\n"):
                said += await process.stdout.receive()
            async with connect(stage.socket) as client:
                await client.initialize()
                for method in requests:
                    await client.request(method)
            process.terminate()
            said += b"".join([part async for part in process.stdout])
            assert await process.wait() == 0
    assert said.decode().splitlines()[-1] == "loaded: jsonschema"


def test_a_daemon_starts_without_what_only_a_call_needs() -> None:
    program = f"import sys, trimpoint.app; print([n for n in {NOT_AT_START!r} if n in sys.modules])"
    path = os.pathsep.join([str(ROOT / "daemon"), str(ROOT / "protocol")])
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        check=True,
    )
    assert ended.stdout == b"[]\n"
