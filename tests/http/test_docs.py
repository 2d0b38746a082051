"""docs/http.md and docs/openapi.json agree with the daemon: each example is run, and the document
is generated again.
"""

import json
import os
import re
import sys
from pathlib import Path

import anyio
import msgspec
import pytest
from trimpoint.config.sections import HttpSection
from trimpoint.http.rest import openapi
from trimpoint.http.rest.api import Api
from trimpoint.http.rest.operations import BASE, OPERATIONS
from trimpoint_protocol.client.unix import connect_unix

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness, opened_harness
from tests.e2e.conversation import Conversation
from tests.http.stage import Wire
from tests.ports import free_port

DOCS = Path(__file__).parents[2] / "docs"
ROOT = DOCS.parent


def test_the_openapi_document_is_that_of_the_registry() -> None:
    assert (DOCS / "openapi.json").read_bytes() == openapi.encoded(), "run scripts/generate-docs"


def test_every_reference_of_the_document_leads_somewhere() -> None:
    document = openapi.document()
    text = json.dumps(document)
    named = set(re.findall(r'"#/components/schemas/(\w+)"', text))
    assert named <= document["components"]["schemas"].keys()
    assert "CommandBody" in named


def test_every_operation_has_a_handler() -> None:
    api = Api(None, None, None, openapi.encoded)  # type: ignore[arg-type]
    assert api.handlers.keys() == {
        one.id for one in OPERATIONS.values() if one.path.startswith(BASE)
    }


@pytest.mark.codex
async def test_the_daemon_serves_the_document() -> None:
    async with (
        opened_harness() as harness,
        harness.daemon(),
        await connect_unix(harness.socket) as stream,
    ):
        answer = await Wire(stream).ask("GET", "/api/v1/openapi.json")
    assert msgspec.json.decode(answer.body) == openapi.document()


@pytest.mark.codex
async def test_the_printed_examples_work() -> None:
    blocks = re.findall(r"```bash\n(.*?)```", (DOCS / "http.md").read_text(), re.DOTALL)
    endless = [block for block in blocks if "/events" in block]
    async with opened_harness() as harness:
        port = free_port()
        harness.config = msgspec.structs.replace(
            harness.config, http=HttpSection(f"127.0.0.1:{port}")
        )
        harness.socket = harness.home / "trimpoint" / "trimpoint.sock"
        async with harness.conversation() as talk:
            await talk.turn()
            await talk.turn()
            script = "\n".join(block for block in blocks if block not in endless).replace(
                "4750", str(port)
            )
            printed = await _run(
                harness, talk, script.replace("curl --silent", "curl --silent --fail-with-body")
            )
            assert '"name":"over HTTP"' in json.dumps(await talk.snapshot(), separators=(",", ":"))
            assert re.findall(r"^event: (.*)$", printed, re.MULTILINE)[-1] == "result"
            assert printed.count('"threads":[') == 2
            assert len(endless) == 1
            await _stream(
                harness,
                talk,
                f'SOCKET="$XDG_RUNTIME_DIR/trimpoint/trimpoint.sock"\nexec {endless[0]}',
            )


def _environment(harness: Harness, talk: Conversation) -> dict[str, str]:
    bin_dir = harness.home / "bin"
    if not bin_dir.exists():
        bin_dir.mkdir()
        (bin_dir / "trimpoint").write_text(f'#!/bin/sh\nexec {sys.executable} -m trimpoint "$@"\n')
        (bin_dir / "trimpoint").chmod(0o755)
    return {
        **os.environ,
        "PATH": f"{bin_dir}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT / 'daemon'}:{ROOT / 'protocol'}",
        "XDG_RUNTIME_DIR": str(harness.home),
        "TRIMPOINT_STATE_DIR": str(harness.state_dir),
        "THREAD": talk.thread_id,
    }


async def _run(harness: Harness, talk: Conversation, script: str) -> str:
    with anyio.fail_after(STEP_S):
        done = await anyio.run_process(
            ["bash", "-euc", script], env=_environment(harness, talk), stderr=-2, check=False
        )
    assert done.returncode == 0, done.stdout.decode()
    return done.stdout.decode()


async def _stream(harness: Harness, talk: Conversation, script: str) -> None:
    process = await anyio.open_process(["bash", "-euc", script], env=_environment(harness, talk))
    async with process:
        assert process.stdout is not None
        said = b""
        with anyio.fail_after(STEP_S):
            while b"event: orchestration/synchronized" not in said:
                said += await process.stdout.receive()
        assert said.startswith(b"event: snapshot\nid: ")
        process.kill()
