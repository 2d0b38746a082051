"""A whole thread of ours in one answer, or a refusal."""

import json

import anyio
import msgspec
import pytest
from trimpoint.gateway.methods.agent_sessions import own_export as exports
from trimpoint.gateway.methods.agent_sessions.own_export import own_export
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol import unified as u
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, started


def lived() -> Conversation:
    thread = started()
    thread.turn("pruned prompt", "pruned answer")
    thread.clear()
    thread.turn("kept prompt", "kept answer")
    return thread


async def test_a_document_holds_what_the_agent_knows_and_on_request_the_rest() -> None:
    state = lived().state
    short = await own_export(state, "markdown", include_compacted=False)
    assert ("kept answer" in short, "pruned answer" in short) == (True, False)
    whole = await own_export(state, "json", include_compacted=True)
    said = [entry.get("text") for entry in json.loads(whole)["entries"]]
    assert said == ["pruned prompt", "pruned answer", None, "kept prompt", "kept answer"]


async def test_a_thread_too_large_for_an_answer_is_refused_with_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exports, "MAX_EXPORT_BYTES", 300)
    with pytest.raises(Refusal) as refused:
        await own_export(lived().state, "markdown", include_compacted=True)
    assert refused.value.reason is Reason.NOT_SUPPORTED


async def test_a_thread_that_continues_meanwhile_is_not_mixed_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exports, "ENTRIES_AT_ONCE", 1)
    thread = lived()
    assert await own_export(thread.state, "markdown", include_compacted=False)
    refusals: list[Refusal] = []

    async def read() -> None:
        try:
            await own_export(thread.state, "markdown", include_compacted=False)
        except Refusal as refusal:
            refusals.append(refusal)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(read)
        await anyio.lowlevel.checkpoint()
        thread.turn("more", "said")
    assert [refusal.reason for refusal in refusals] == [Reason.TURN_IN_PROGRESS]


async def test_a_thread_is_exported_in_the_form_of_all_agents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = lived().state
    whole = await own_export(state, "unified", include_compacted=True)
    lines = [json.loads(line) for line in whole.splitlines()]
    assert [line["text"] for line in lines if line["type"] == "message"] == [
        "pruned prompt",
        "pruned answer",
        "kept prompt",
        "kept answer",
    ]
    assert (lines[0]["session"]["agent"], lines[-1]["type"]) == ("trimpoint", "end")
    short = await own_export(state, "unified", include_compacted=False)
    assert "pruned prompt" not in short.split("\n", 1)[1]
    document = await own_export(state, "unified-json", include_compacted=True)
    read = msgspec.json.decode(document, type=u.Document)
    assert [message.text for message in read.messages] == [
        line["text"] for line in lines if line["type"] == "message"
    ]
    assert read.end.digest == lines[-1]["digest"]
    monkeypatch.setattr(exports, "MAX_EXPORT_BYTES", 300)
    with pytest.raises(Refusal, match="too large"):
        await own_export(state, "unified-json", include_compacted=True)
