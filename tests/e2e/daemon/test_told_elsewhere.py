"""What happens in the real Codex is told to a program and to clients alike, while a webhook hangs
that costs nobody anything (docs/configuration.md, `[notify]`).
"""

from pathlib import Path

import anyio
import msgspec
import pytest
from anyio.abc import SocketStream
from trimpoint.config.sections import ContextSection, DiscardSection, NotifySection
from trimpoint.testkit import run, say

from tests.deadlines import SCENARIO_S
from tests.e2e.conftest import Harness
from tests.e2e.gauge import CRITICAL, spending, until_compacted

pytestmark = [pytest.mark.codex, pytest.mark.own_daemon]
LONG = "for i in $(seq 3000); do echo line-$i-of-{}; done"


async def test_a_program_is_told_of_each_event_once_while_a_webhook_hangs(
    harness: Harness, tmp_path: Path
) -> None:
    told = tmp_path / "told"
    secrets = "$(env | grep -c secret-word)"
    program = f'echo "$TRIMPOINT_EVENT {secrets} $TRIMPOINT_TITLE $TRIMPOINT_SAID" >> {told}'
    posted: list[bytes] = []

    async def hang(stream: SocketStream) -> None:
        async with stream:
            async for piece in stream:  # it never answers
                posted.append(piece)  # noqa: PERF401

    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    port = listener.extra(anyio.abc.SocketAttribute.local_port)
    harness.config = msgspec.structs.replace(
        harness.config,
        context=ContextSection(auto="mask"),
        discard=DiscardSection(floor_tokens=300, target_tokens=1_500),
        notify=NotifySection(
            command=("sh", "-c", program),
            webhook=f"http://127.0.0.1:{port}/hook",
            events=("done", "asks", "critical", "automatic", "failed"),
        ),
    )
    async with listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, hang)
        async with harness.conversation() as talk:
            await talk.client.request("orchestration/subscribeNotices")
            for word in range(8):
                talk.script.then(run(LONG.format(word)), say("secret-word."))
                await talk.prompt("secret-word.")
            since = len(talk.client.messages)
            talk.script.then(say("full", usage=spending(CRITICAL)))
            await talk.prompt("full.")
            await until_compacted(talk, since)
            with anyio.fail_after(SCENARIO_S):
                while not {"critical", "automatic"} <= {*told_events(told)}:  # noqa: ASYNC110
                    await anyio.sleep(0.05)  # another process writes the file
            shown = [
                message["params"]
                for message in talk.client.messages
                if message.get("method") == "orchestration/notice"
            ]
        tasks.cancel_scope.cancel()
    events = told_events(told)
    assert (events.count("critical"), events.count("automatic")) == (1, 1)
    assert 1 <= events.count("done") <= 9
    assert {line.split()[1] for line in told.read_text().splitlines()} == {"0"}
    lines = [f"{one['event']} 0 {one['title']} {one['said']}" for one in shown]
    assert {*lines} == {*told.read_text().splitlines()}
    assert {one["threadId"] for one in shown} == {talk.thread_id}
    assert b'"event":"done"' in b"".join(posted)
    assert b"secret-word" not in b"".join(posted)


def told_events(told: Path) -> list[str]:
    return [line.split()[0] for line in told.read_text().splitlines()] if told.exists() else []
