"""The outcome of a trim: tokens before and after, the undo command, and the answer of a dry run."""

from typing import Any

import pytest

from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation, seen_turns

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]


async def three_turns(talk: Conversation) -> dict[str, Any]:
    """Runs three turns, and returns the meter."""
    for _ in range(3):
        await talk.turn()
    return dict(await talk.client.request("context/status", threadId=talk.thread_id))


def last_line(outcome: dict[str, Any]) -> str:
    return str(outcome["message"].splitlines()[-1])


@pytest.mark.parametrize("text", ["/clear", "/clear 1", "/compact --force"])
async def test_a_trim_tells_tokens_and_its_last_line_undoes_it(harness: Harness, text: str) -> None:
    async with harness.conversation() as talk:
        before = await three_turns(talk)
        outcome = await talk.type(text)
        after = await talk.client.request("context/status", threadId=talk.thread_id)
        assert outcome["tokens"]["before"] == before["usedTokens"]
        assert outcome["tokens"]["after"] == after["usedTokens"]
        assert (outcome["tokens"]["beforeEstimated"], outcome["tokens"]["afterEstimated"]) == (
            False,
            True,
        )
        assert outcome["tokens"]["note"] == after["note"]
        assert (
            f"{before['usedTokens']:,} tokens before, about {after['usedTokens']:,} after"
            in outcome["message"]
        )
        assert last_line(outcome) == f"To undo: {outcome['undo']}"
        undone = await talk.type(outcome["undo"])
        assert undone["status"] == "completed", undone
        assert seen_turns(await talk.turn(), 3) == [1, 2, 3]


async def test_new_tells_tokens_and_how_to_have_the_old_thread_back(harness: Harness) -> None:
    async with harness.conversation() as talk:
        before = await three_turns(talk)
        outcome = await talk.type("/new")
        assert outcome["tokens"]["before"] == before["usedTokens"]
        after = await talk.client.request("context/status", threadId=outcome["newThreadId"])
        assert outcome["tokens"]["after"] == after["usedTokens"] > 0
        assert after["windowTokens"] == before["windowTokens"]
        assert outcome["undo"] == f"thread/unarchive {talk.thread_id}"
        short = talk.thread_id[-8:]
        assert last_line(outcome) == f"To undo: trimpoint threads unarchive {short} (in a terminal)"
        await talk.client.request("thread/unarchive", threadId=talk.thread_id)
        assert seen_turns(await talk.turn(), 3) == [1, 2, 3]


async def test_a_revert_tells_tokens_as_the_meter_does(harness: Harness) -> None:
    async with harness.conversation() as talk:
        before = await three_turns(talk)
        outcome = await talk.type("/revert 0 --context")
        after = await talk.client.request("context/status", threadId=talk.thread_id)
        assert outcome["tokens"]["before"] == before["usedTokens"]
        assert 0 < outcome["tokens"]["after"] == after["usedTokens"] < before["usedTokens"]
        assert outcome["message"].count("To undo: ") == 1
        assert last_line(outcome) == "To undo: /revert --undo"


@pytest.mark.parametrize(
    "way",
    [
        ["/revert 0"],
        ["/revert 2"],
        ["/clear", "/revert 1"],
        ["/clear 1", "/pin 2", "/revert 2"],
        ["/compact --force", "/revert 1", "/revert --undo"],
        ["/revert 1", "/revert --undo"],
    ],
)
async def test_the_dry_run_of_a_revert_tells_the_tokens_of_the_revert(
    harness: Harness, way: list[str]
) -> None:
    async with harness.conversation() as talk:
        before = await three_turns(talk)
        for text in way:
            if not text.startswith("/revert"):
                await talk.type(text)
                continue
            before = await talk.client.request("context/status", threadId=talk.thread_id)
            planned = await talk.type(f"{text} --context --dry-run")
            assert planned["tokens"]["before"] == before["usedTokens"], planned
            assert " tokens before, about " in planned["message"]
            done = await talk.type(f"{text} --context")
            for one in (planned, done):
                del one["tokens"]["note"]
            assert done["tokens"] == planned["tokens"]


async def test_a_dry_run_says_what_would_happen_and_changes_nothing(harness: Harness) -> None:
    async with harness.conversation() as talk:
        await three_turns(talk)
        snapshot = await talk.snapshot()
        requests = len(harness.model.requests)
        said: dict[str, str] = {}
        for text in (
            "/clear --dry-run",
            "/clear 1 --dry-run",
            "/compact --force --dry-run",
            "/new --dry-run",
        ):
            outcome = await talk.type(text)
            assert (outcome["status"], outcome["dryRun"], outcome["undo"]) == (
                "completed",
                True,
                None,
            ), outcome
            assert outcome["tokens"]["before"] == snapshot["context"]["usedTokens"]
            said[text] = outcome["message"]
        same = await talk.client.request(
            "commands/execute", threadId=talk.thread_id, text="/clear 1", dryRun=True
        )
        assert same["message"] == said["/clear 1 --dry-run"]
        assert said["/clear 1 --dry-run"].startswith(
            "Would clear 4 messages in 2 turns, the last turn kept. Context: "
        )
        assert said["/compact --force --dry-run"].endswith("Nothing was changed.")
        nothing = await talk.type("/clear 3 --dry-run")
        assert (nothing["status"], nothing["reason"], nothing["dryRun"]) == (
            "skipped",
            "nothing_to_trim",
            True,
        )
        assert await talk.snapshot() == snapshot
        assert len(harness.model.requests) == requests
        assert seen_turns(await talk.turn(), 3) == [1, 2, 3]
