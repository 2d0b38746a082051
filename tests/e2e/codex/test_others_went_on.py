"""A thread that another program continued while it was unloaded: the ledger records the turns."""

import os
import signal
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.testkit import say

from tests.e2e.codex.another_program import another_program, begun, going_on, turn
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns
from tests.e2e.wire import JsonRpcClient, connect_to_codex
from tests.testkit.codex_over_stdio import CODEX_BIN

pytestmark = [
    pytest.mark.codex,
    pytest.mark.never_restarted(
        reason="names to Codex itself the thread that the first daemon began"
    ),
]


def messages(timeline: list[dict[str, Any]]) -> list[str]:
    return [entry["text"] for entry in timeline if entry["kind"] == "message"]


def told(*numbers: int) -> list[str]:
    return [f"{word}-{number}." for number in numbers for word in ("prompt", "answer")]


@pytest.mark.parametrize("commands", [(), ("/clear 1",)], ids=["first generation", "trimmed"])
async def test_turns_of_another_program_are_in_the_ledger_and_counted_by_a_clear(
    harness: Harness, commands: tuple[str, ...]
) -> None:
    thread_id, provider_id = await begun(harness, 2, *commands)
    async with another_program(harness, provider_id) as wire:
        await turn(wire, harness, provider_id, 3)
        await turn(wire, harness, provider_id, 4)
    async with going_on(harness, thread_id, 4) as talk:
        assert messages(await talk.timeline(expand="all")) == told(1, 2, 3, 4)
        assert (await talk.type("/clear 2"))["status"] == "completed"
        request = await talk.turn()
    assert seen_turns(request, 5) == [3, 4, 5]
    assert request.mentions("tool-output-3")


async def test_a_clear_without_a_resume_before_it_knows_the_turns_of_another_program(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 2)
    async with another_program(harness, provider_id) as wire:
        await turn(wire, harness, provider_id, 3)
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = 3
        assert (await talk.type("/clear 1"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 4) == [3, 4]


async def test_a_prompt_without_a_resume_before_it_comes_after_the_turns_of_another_program(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 1)
    async with another_program(harness, provider_id) as wire:
        for number in range(2, 31):  # more than a page of them
            await turn(wire, harness, provider_id, number)
    async with harness.daemon(), harness.client() as client:
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = 30
        await talk.turn()
        assert messages(await talk.timeline(expand="all", limit=1000)) == told(*range(1, 32))


async def test_turns_of_codex_exec_are_in_the_ledger(harness: Harness) -> None:
    thread_id, _ = await begun(harness, 2)
    harness.script.then(say("answer-3."))
    command = [str(CODEX_BIN), "exec", *flags_of(harness), "resume", thread_id, "prompt-3."]
    environment = dict(harness.profile.environment)
    await anyio.run_process(command, env=environment, cwd=harness.worktree)
    async with going_on(harness, thread_id, 3) as talk:
        assert (await talk.type("/clear 1"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 4) == [3, 4]


def flags_of(harness: Harness) -> list[str]:
    return [part for override in harness.overrides for part in ("-c", override)] + [
        "--skip-git-repo-check"
    ]


async def test_turns_that_another_program_took_back_do_not_come_back(harness: Harness) -> None:
    thread_id, provider_id = await begun(harness, 3)
    async with another_program(harness, provider_id) as wire:
        listed = await wire.result("thread/turns/list", threadId=provider_id)
        await wire.result(
            "thread/revert", threadId=provider_id, beforeTurnId=listed["data"][0]["id"]
        )
        await turn(wire, harness, provider_id, 4)
    async with going_on(harness, thread_id, 4) as talk:
        assert messages(await talk.timeline(expand="all")) == told(1, 2, 4)
        assert (await talk.type("/clear 2"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 5) == [2, 4, 5]


async def test_all_turns_taken_back_by_another_program_are_gone(harness: Harness) -> None:
    thread_id, provider_id = await begun(harness, 2)
    async with another_program(harness, provider_id) as wire:
        listed = await wire.result("thread/turns/list", threadId=provider_id)
        await wire.result(
            "thread/revert", threadId=provider_id, beforeTurnId=listed["data"][-1]["id"]
        )
    async with going_on(harness, thread_id, 2) as talk:
        assert messages(await talk.timeline(expand="all")) == []
        assert seen_turns(await talk.turn(), 3) == [3]


async def test_a_compaction_by_another_program_is_an_activity_of_the_ledger(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 2)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/compact/start", threadId=provider_id)
        await wire.received_after("turn/completed")
        await turn(wire, harness, provider_id, 3)
    async with going_on(harness, thread_id, 3) as talk:
        entries = await talk.timeline(expand="all")
        assert messages(entries) == told(1, 2, 3)
        assert [entry["text"] for entry in entries if entry.get("role") == "contextCompaction"] or [
            entry for entry in entries if "compacted" in str(entry)
        ]
        assert (await talk.type("/clear 1"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 4) == [3, 4]


async def test_items_that_another_program_injected_behind_a_turn_belong_to_it(
    harness: Harness,
) -> None:
    async def inject(wire: JsonRpcClient, text: str) -> None:
        content = [{"type": "input_text", "text": text}]
        item = {"type": "message", "role": "user", "content": content}
        await wire.result("thread/inject_items", threadId=thread_id, items=[item])

    thread_id, _ = await begun(harness, 2)
    async with another_program(harness, thread_id) as wire:
        await inject(wire, "INJECTED-2")
        await turn(wire, harness, thread_id, 3)
        await inject(wire, "INJECTED-3")
    async with going_on(harness, thread_id, 3) as talk:
        assert (await talk.type("/clear 2"))["status"] == "completed"
        request = await talk.turn()
        assert seen_turns(request, 3) == [2, 3]
        places = [text for text in request.texts() if text.startswith(("INJECTED", "prompt-"))]
        assert places == ["prompt-2.", "INJECTED-2", "prompt-3.", "INJECTED-3", "prompt-4."]
        assert (await talk.type("/clear 2"))["status"] == "completed"
        request = await talk.turn()
        assert not request.mentions("INJECTED-2")
        assert request.mentions("INJECTED-3")


async def test_a_name_given_by_another_program_is_the_threads_name(harness: Harness) -> None:
    thread_id, provider_id = await begun(harness, 1)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/name/set", threadId=provider_id, name="Named elsewhere")
    async with going_on(harness, thread_id, 1) as talk:
        assert (await talk.snapshot())["name"] == "Named elsewhere"
        await talk.type("/clear")
        await talk.turn()
        read = await talk.client.request("thread/read", threadId=thread_id)
    assert read["thread"]["name"] == "Named elsewhere"


async def test_settings_made_by_another_program_hold_for_the_next_generation(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 1)
    async with another_program(harness, provider_id) as wire:
        given = {
            "effort": "high",
            "approvalPolicy": "on-request",
            "sandboxPolicy": {"type": "readOnly"},
        }
        await wire.result("thread/settings/update", threadId=provider_id, **given)
        await wire.received_after("thread/settings/updated")
    async with going_on(harness, thread_id, 1) as talk:
        await talk.type("/clear")
        request = await talk.turn()
    assert request.body["reasoning"]["effort"] == "high"
    assert request.mentions("`sandbox_mode` is `read-only`")


async def test_a_thread_that_another_program_has_archived_is_archived(harness: Harness) -> None:
    thread_id, provider_id = await begun(harness, 1)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/archive", threadId=provider_id)
    async with harness.daemon(), harness.client() as client:
        with pytest.raises(RemoteError, match="is archived"):
            await client.request("thread/resume", threadId=thread_id)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        assert (await talk.snapshot())["archived"]
        await client.request("thread/unarchive", threadId=thread_id)
        talk.turns = 1
        assert seen_turns(await talk.turn(), 2) == [1, 2]


async def test_a_prompt_on_it_says_why_and_it_stays_archived_until_somebody_unarchives_it(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 1)
    async with another_program(harness, provider_id) as wire:
        await wire.result("thread/archive", threadId=provider_id)
    prompt = {"threadId": thread_id, "input": [{"type": "text", "text": "prompt-2."}]}
    async with harness.daemon(), harness.client() as client:
        with pytest.raises(RemoteError, match="is archived in Codex: another program") as refused:
            await client.request("turn/start", **prompt)
        assert refused.value.data["reason"] == "thread_archived"
        assert "thread/unarchive" in refused.value.data["hint"]
        with pytest.raises(RemoteError, match="is archived"):
            await client.request("thread/resume", threadId=thread_id)
        with pytest.raises(RemoteError, match="is archived"):
            await client.request("turn/start", **prompt)
        await client.request("thread/unarchive", threadId=thread_id)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        talk.turns = 1
        assert seen_turns(await talk.turn(), 2) == [1, 2]


async def test_a_thread_that_another_program_took_out_of_the_archive_is_resumed(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        await talk.client.request("thread/archive", threadId=talk.thread_id)
        thread_id = talk.thread_id
    async with connect_to_codex(harness) as wire:
        await wire.initialize()
        await wire.result("thread/unarchive", threadId=thread_id)
    async with going_on(harness, thread_id, 1, sandbox="read-only") as talk:
        assert not (await talk.snapshot())["archived"]
        request = await talk.turn()
    assert seen_turns(request, 2) == [1, 2]
    assert request.mentions("`sandbox_mode` is `read-only`")


async def test_reads_of_a_trimmed_thread_include_turns_of_another_program(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 2, "/clear 1")
    async with another_program(harness, provider_id) as wire:
        await turn(wire, harness, provider_id, 3)
    async with harness.daemon(), harness.client() as client:
        read = await client.request("thread/read", threadId=thread_id, includeTurns=True)
        listed = await client.request("thread/turns/list", threadId=thread_id)
    prompts = [f"prompt-{number}." for number in (1, 2, 3)]
    assert [one["items"][0]["content"][0]["text"] for one in read["thread"]["turns"]] == prompts
    assert [one["items"][0]["content"][0]["text"] for one in listed["data"]] == prompts[::-1]


async def test_two_daemons_over_one_codex_home_go_on_with_each_others_turns(
    harness: Harness,
) -> None:
    thread_id, _ = await begun(harness, 1)
    first, second = harness.state_dir, harness.state_dir.with_name("other-state")
    for number, state_dir in ((2, second), (3, first), (4, second)):
        harness.state_dir = state_dir
        async with going_on(harness, thread_id, number - 1) as talk:
            await talk.turn()
            assert messages(await talk.timeline(expand="all")) == told(*range(1, number + 1))
    async with going_on(harness, thread_id, 4) as talk:
        assert (await talk.type("/clear 2"))["status"] == "completed"
        assert seen_turns(await talk.turn(), 5) == [3, 4, 5]
    harness.state_dir = first
    async with harness.daemon(), harness.client() as client:
        with pytest.raises(RemoteError, match="is archived"):
            await client.request("thread/resume", threadId=thread_id)


async def test_a_thread_that_another_program_has_open_is_not_cleared_under_it(
    harness: Harness,
) -> None:
    thread_id, provider_id = await begun(harness, 2)
    async with (
        another_program(harness, provider_id) as wire,
        harness.daemon(),
        harness.client() as client,
    ):
        talk = Conversation(client, thread_id, harness.model, harness.script)
        with pytest.raises(RemoteError, match="already has an active writer"):
            await talk.type("/clear 1")
        assert len(await talk.timeline(expand="all")) == 6
        await turn(wire, harness, provider_id, 3)


async def test_turns_made_elsewhere_after_codex_was_killed_are_in_the_ledger(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        os.kill(harness.child_pid(), signal.SIGKILL)
        async with another_program(harness, talk.thread_id) as wire:
            await turn(wire, harness, talk.thread_id, 2)
        await talk.until_codex_answers()
        talk.turns = 2
        assert seen_turns(await talk.turn(), 3) == [1, 2, 3]
        assert messages(await talk.timeline(expand="all")) == told(1, 2, 3)


async def test_a_fork_that_another_program_took_back_to_its_beginning_has_no_turns(
    harness: Harness,
) -> None:
    async with harness.conversation() as talk:
        await talk.turn()
        fork = await talk.fork()
        await fork.turn()
    async with another_program(harness, fork.thread_id) as wire:
        read = await wire.result("thread/read", threadId=fork.thread_id, includeTurns=True)
        first = read["thread"]["turns"][0]["id"]
        await wire.result("thread/revert", threadId=fork.thread_id, beforeTurnId=first)
    async with going_on(harness, fork.thread_id, 2) as back:
        assert seen_turns(await back.turn(), 3) == [3]
        assert len((await back.snapshot())["turns"]) == 1
