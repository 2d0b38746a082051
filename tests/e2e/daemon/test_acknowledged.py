"""An acknowledged change survives a SIGKILL of the daemon right after the answer, and the next
trim.
"""

import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest
from anyio.abc import Process
from msgspec import Raw
from trimpoint.cli.connection.client import Client
from trimpoint.operations.routing.notification_router import NotificationRouter
from trimpoint.testkit import say

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.daemon_process import daemon_process, kill

pytestmark = pytest.mark.codex

INJECTED = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_text", "text": "between the lines"}],
}
ATTEMPTS = 3


async def acknowledged_and_killed(harness: Harness, method: str, **params: Any) -> str:
    """Returns the id of a thread with one turn whose daemon was killed as soon as it had answered
    `method`.
    """
    async with daemon_process(harness) as daemon, harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.turn()
        await ask_and_kill(daemon, client, method, threadId=talk.thread_id, **params)
    return talk.thread_id


async def ask_and_kill(daemon: Process, client: Client, method: str, **params: Any) -> None:
    await client.request(method, **params)
    await kill(daemon)


heard = NotificationRouter.on_notification


def without_settings(self: NotificationRouter, method: str, params: Raw, line: bytes) -> None:
    """Passes on what Codex reports, but for settings."""
    if method != "thread/settings/updated":
        heard(self, method, params, line)


async def test_a_name_that_was_acknowledged_is_carried_over_after_a_kill(harness: Harness) -> None:
    for attempt in range(ATTEMPTS):
        thread_id = await acknowledged_and_killed(
            harness, "thread/name/set", name=f"Name {attempt}"
        )
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, thread_id, harness.model, harness.script)
            assert (await talk.snapshot())["name"] == f"Name {attempt}"
            await talk.type("/clear")
            await talk.turn()
            rows = (await client.request("thread/list"))["data"]
        assert next(row for row in rows if row["id"] == thread_id)["name"] == f"Name {attempt}"


async def test_settings_that_were_acknowledged_hold_after_a_kill(harness: Harness) -> None:
    given = {"effort": "high", "sandboxPolicy": {"type": "readOnly"}}
    for command in ("", "/clear", "/clear 1"):
        thread_id = await acknowledged_and_killed(harness, "thread/settings/update", **given)
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, thread_id, harness.model, harness.script)
            talk.turns = 1
            answer = await client.request("thread/resume", threadId=thread_id)
            assert (answer["reasoningEffort"], answer["sandbox"]["type"]) == ("high", "readOnly")
            if command:
                await talk.turn()
                assert (await talk.type(command))["status"] == "completed"
            request = await talk.turn()
        assert request.body["reasoning"]["effort"] == "high"
        assert request.mentions("`sandbox_mode` is `read-only`")


async def test_an_effort_holds_whose_report_the_daemon_does_not_live_to_see(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Codex has stored it, and the daemon knows a collaboration mode with the effort before.
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.turn()
    async with harness.daemon(), harness.client() as client:
        talk.client = client
        await talk.turn()
        with monkeypatch.context() as unreported:
            unreported.setattr(NotificationRouter, "on_notification", without_settings)
            await client.request("thread/settings/update", threadId=talk.thread_id, effort="high")
            await client.request("thread/read", threadId=talk.thread_id)
    for command in ("", "/clear"):
        async with harness.daemon(), harness.client() as client:
            talk.client = client
            if command:
                await talk.type(command)
            assert (await talk.turn()).body["reasoning"]["effort"] == "high"


def as_before(self: NotificationRouter, method: str, params: Raw, line: bytes) -> None:
    """Passes on reports of settings as Codex makes them before it has changed the model."""
    if method == "thread/settings/updated":
        params = Raw(bytes(params).replace(b'"gpt-5-codex"', b'"gpt-5"'))
        line = msgspec.json.encode({"method": method, "params": params})
    heard(self, method, params, line)


@pytest.mark.parametrize("command", ["", "/clear"])
async def test_a_model_holds_when_the_report_of_an_earlier_change_arrives_after_its_answer(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(NotificationRouter, "on_notification", as_before)
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.turn()
        update = "thread/settings/update"
        await client.request(update, threadId=talk.thread_id, effort="high")
        await client.request(update, threadId=talk.thread_id, model="gpt-5-codex")
        await client.expect(lambda message: message.get("method") == "thread/settings/updated")
        if command:
            await talk.type(command)
        answer = await client.request("thread/resume", threadId=talk.thread_id)
        assert (answer["model"], answer["reasoningEffort"]) == ("gpt-5-codex", "high")
        request = await talk.turn()
    assert (request.body["model"], request.body["reasoning"]["effort"]) == ("gpt-5-codex", "high")


async def test_a_turn_replaces_a_change_that_was_never_reported(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        named = {"threadId": talk.thread_id}
        await talk.turn()
        with monkeypatch.context() as unreported:
            unreported.setattr(NotificationRouter, "on_notification", without_settings)
            await client.request("thread/settings/update", **named, effort="high")
            await client.request("thread/read", **named)
        talk.script.then(say("less"))
        prompt, after = [{"type": "text", "text": "with less effort"}], len(client.messages)
        await client.request("turn/start", **named, input=prompt, effort="low")
        assert (await client.request("thread/resume", **named))["reasoningEffort"] == "low"
        await client.received("turn/completed", after)
        await talk.type("/clear")
        assert (await talk.turn()).body["reasoning"]["effort"] == "low"


async def test_settings_that_codex_answers_with_after_a_kill_hold_when_it_had_not_stored_them(
    harness: Harness, tmp_path: Path
) -> None:
    async with harness.daemon(), harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.turn()
    shutil.copytree(harness.codex_home, tmp_path / "before", symlinks=True)
    async with harness.daemon(), harness.client() as client:
        await client.request("thread/settings/update", threadId=talk.thread_id, effort="high")
    async with harness.daemon(), harness.client() as client:
        answer = await client.request("thread/resume", threadId=talk.thread_id)
        assert answer["reasoningEffort"] == "high"
    shutil.rmtree(harness.codex_home)
    shutil.copytree(tmp_path / "before", harness.codex_home, symlinks=True)
    async with harness.daemon(), harness.client() as client:
        talk.client = client
        assert (await talk.turn()).body["reasoning"]["effort"] == "high"


async def test_a_resume_that_sets_something_else_keeps_what_was_acknowledged_before_a_kill(
    harness: Harness,
) -> None:
    for _ in range(ATTEMPTS):
        thread_id = await acknowledged_and_killed(harness, "thread/settings/update", effort="high")
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, thread_id, harness.model, harness.script)
            talk.turns = 1
            answer = await client.request(
                "thread/resume", threadId=thread_id, approvalPolicy="never"
            )
            assert (answer["reasoningEffort"], answer["approvalPolicy"]) == ("high", "never")
            request = await talk.turn()
        assert request.body["reasoning"]["effort"] == "high"


async def test_permissions_that_were_acknowledged_hold_after_a_kill(harness: Harness) -> None:
    given = {"permissions": ":read-only"}
    for command in ("", "/clear", "/clear 1"):
        thread_id = await acknowledged_and_killed(harness, "thread/settings/update", **given)
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, thread_id, harness.model, harness.script)
            talk.turns = 1
            if command:
                await talk.turn()
                assert (await talk.type(command))["status"] == "completed"
            answer = await client.request("thread/resume", threadId=thread_id)
            assert answer["sandbox"]["type"] == "readOnly"
            request = await talk.turn()
        assert request.mentions("`sandbox_mode` is `read-only`")


async def test_settings_that_were_carried_over_hold_after_a_kill(harness: Harness) -> None:
    async with daemon_process(harness) as daemon, harness.client() as client:
        talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
        await talk.turn()
        await talk.turn()
        await client.request("thread/settings/update", threadId=talk.thread_id, effort="high")
        await client.expect(lambda message: message.get("method") == "thread/settings/updated")
        await talk.type("/clear 1")
        await kill(daemon)
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, talk.thread_id, harness.model, harness.script)
        talk.turns = 2
        assert (await talk.turn()).body["reasoning"]["effort"] == "high"


async def test_items_that_were_injected_are_kept_by_a_trim_after_a_kill(harness: Harness) -> None:
    for _ in range(ATTEMPTS):
        thread_id = await acknowledged_and_killed(harness, "thread/inject_items", items=[INJECTED])
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, thread_id, harness.model, harness.script)
            talk.turns = 1
            await talk.turn()
            await talk.type("/compact --keep 2 --force")
            await talk.type("/clear 2")
            await client.request("thread/resume", threadId=thread_id)
            request = await talk.turn()
            assert request.mentions("between the lines")
            await talk.type("/clear 1")
            request = await talk.turn()
        assert not request.mentions("between the lines")
        assert seen_turns(request, 4) == [3, 4]


async def test_items_that_were_injected_into_a_fresh_thread_are_kept_by_a_trim_after_a_kill(
    harness: Harness,
) -> None:
    for _ in range(ATTEMPTS):
        async with daemon_process(harness) as daemon, harness.client() as client:
            talk = await Conversation.begin(client, harness.worktree, harness.model, harness.script)
            ask = "thread/inject_items"
            await ask_and_kill(daemon, client, ask, threadId=talk.thread_id, items=[INJECTED])
        async with harness.daemon(), harness.client() as client:
            talk = Conversation(client, talk.thread_id, harness.model, harness.script)
            assert (await talk.type("/clear"))["status"] == "completed"
            assert (await talk.type("/undo"))["status"] == "completed"
            request = await talk.turn()
            assert str(request.input).count("between the lines") == 1
