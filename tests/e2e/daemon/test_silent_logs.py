"""No text of a conversation and no key is ever written to a log, not even at level debug
(docs/spec/running.md).
"""

import json

import anyio
import msgspec
import pytest
from trimpoint.config.sections import LogSection
from trimpoint.testkit import http_error, run, say

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness
from tests.e2e.daemon_process import daemon_process
from tests.e2e.wire import JsonRpcClient, connect_socket

pytestmark = pytest.mark.codex

MARK = "xQ7-MARK"


def marked(what: str) -> str:
    return f"{MARK}-{what}"


async def test_a_conversation_leaves_no_word_of_it_in_the_log(harness: Harness) -> None:
    harness.config = msgspec.structs.replace(harness.config, log=LogSection(level="debug"))
    harness.overrides.append(
        f'model_providers.marked={{name="m", base_url="http://x", http_headers={{"X-Key"="{marked("key")}"}}}}'
    )
    harness.script.then(
        run(f"echo {marked('output')}"), say(marked("answer")), say(marked("second")), http_error(400, {"error": {"message": marked("refusal")}})
    )  # fmt: skip
    async with daemon_process(harness), connect_socket(harness.socket) as wire:
        await wire.initialize(marked("client"))
        thread_id = await _talk(wire, harness)
        await _misbehave(wire, thread_id)
        await wire.ask("sidecar/shutdown")
        await wire.until_closed()
    assert any(MARK in str(request.input) for request in harness.model.requests), (
        "else nothing was shown"
    )
    log = (harness.home / "daemon.log").read_text()
    lines = [json.loads(line) for line in log.splitlines()]
    assert {"client_connected", "codex_ready", "stopping"} <= {line["event"] for line in lines}
    assert [line for line in log.splitlines() if MARK in line] == []


async def _talk(wire: JsonRpcClient, harness: Harness) -> str:
    answer = await wire.result(
        "thread/start",
        cwd=str(harness.worktree),
        approvalPolicy="never",
        sandbox="danger-full-access",
    )
    thread_id = str(answer["thread"]["id"])
    await wire.result("thread/name/set", threadId=thread_id, name=marked("name"))
    for prompt in ("first", "second", "refused by the model"):
        after = len(wire.received)
        await wire.result(
            "turn/start", threadId=thread_id, input=[{"type": "text", "text": marked(prompt)}]
        )
        await wire.received_after("turn/completed", after, threadId=thread_id)
    for text in ("/clear 1", "/compact --force " + marked("guidance"), "/clear " + marked("usage")):
        await wire.result("commands/execute", threadId=thread_id, text=text)
    return thread_id


async def _misbehave(wire: JsonRpcClient, thread_id: str) -> None:
    """Causes errors of many kinds, because errors are logged most."""
    for line in (
        f'{{"id":1,"method":"turn/start","params":{{"text":"{marked("half")}"', f'"{marked("no message")}"',
        f'{{"id":"{marked("id")}","method":"{marked("method")}","params":{{"a":"{marked("params")}"}}}}',
        f'{{"id":"q1","result":"{marked("answer to nothing")}"}}', f'{{"id":2,"result":1,"error":"{marked("both")}"}}',
    ):  # fmt: skip
        await wire.send_bytes(line.encode() + b"\n")
    await wire.ask("turn/start", threadId=thread_id, input=marked("wrong type"))
    await wire.ask("commands/execute", threadId=thread_id, text={"a": marked("wrong type")})
    await wire.ask("timeline/read", threadId=marked("thread"))
    await wire.ask("thread/resume", threadId=marked("thread"))
    with anyio.fail_after(STEP_S):
        await wire.ask(
            "thread/inject_items",
            threadId=thread_id,
            items=[{"type": marked("item"), "content": marked("content")}],
        )
