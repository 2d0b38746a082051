"""A state directory whose disk hangs: every fsync waits until the test lets it return."""

import threading
from functools import partial

import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.journal.storage.file_ops import SystemFiles
from trimpoint.operations.journal_troubles import WRITTEN_AGAIN
from trimpoint.threads.writing import flushing

from tests.deadlines import STEP_S
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def test_while_the_disk_hangs_people_are_told_and_the_daemon_answers(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = threading.Event()
    answers.set()
    sync = SystemFiles.datasync

    def hanging(files: SystemFiles, fd: int) -> None:
        answers.wait()
        sync(files, fd)

    monkeypatch.setattr(SystemFiles, "datasync", hanging)
    async with harness.conversation() as talk:
        await talk.prompt("hello")
        ask = talk.client.request
        rename = partial(
            ask, "orchestration/dispatch",
            command={
                "type": "thread.rename", "commandId": "r", "threadId": talk.thread_id, "name": "N",
            },
        )  # fmt: skip
        try:
            monkeypatch.setattr(flushing, "SLOW_S", 0.2)
            answers.clear()
            with pytest.raises(RemoteError, match="waits for a disk"):
                await rename()
            await talk.client.received("warning")
            with pytest.raises(RemoteError, match="does not answer"):
                await ask(
                    "turn/start", threadId=talk.thread_id, input=[{"type": "text", "text": "x"}]
                )
            with pytest.raises(RemoteError, match="does not answer"):
                await ask("thread/start", cwd=str(harness.worktree))
            assert (await ask("sidecar/status"))["pid"] > 0
            read = await ask("timeline/read", threadId=talk.thread_id)
            assert "hello" in str(read)
        finally:
            monkeypatch.setattr(flushing, "SLOW_S", STEP_S)
            answers.set()
        await talk.client.expect(lambda message: WRITTEN_AGAIN in str(message))
        renamed = await rename()
        assert await rename() == renamed
        listed = await ask("orchestration/snapshot")
        assert [one["name"] for one in listed["threads"]] == ["N"]
        await talk.prompt("once more")
