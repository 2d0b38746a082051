"""`session/export` returns the whole thread in one answer, or a refusal."""

import json

import anyio
import pytest
from trimpoint.gateway.methods.extension import session_export
from trimpoint.gateway.methods.extension.session_export import export
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import ExportParams

from tests.core.given import Conversation, started


def lived() -> Conversation:
    thread = started()
    thread.turn("pruned prompt", "pruned answer")
    thread.clear()
    thread.turn("kept prompt", "kept answer")
    return thread


async def test_a_document_holds_what_the_agent_knows_and_on_request_the_rest() -> None:
    state = lived().state
    short = await export(state, ExportParams(thread_id=state.id))
    assert ("kept answer" in short.content, "pruned answer" in short.content) == (True, False)
    whole = await export(state, ExportParams(thread_id=state.id, pruned=True, format="json"))
    said = [entry.get("text") for entry in json.loads(whole.content)["entries"]]
    assert said == ["pruned prompt", "pruned answer", None, "kept prompt", "kept answer"]


async def test_a_thread_too_large_for_an_answer_is_refused_with_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_export, "MAX_EXPORT_BYTES", 300)
    with pytest.raises(Refusal) as refused:
        await export(lived().state, ExportParams(thread_id="thread-1", pruned=True))
    assert refused.value.reason is Reason.NOT_SUPPORTED


async def test_a_thread_that_continues_meanwhile_is_not_mixed_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(session_export, "ENTRIES_AT_ONCE", 1)
    thread = lived()
    assert (await export(thread.state, ExportParams(thread_id="thread-1"))).content
    refusals: list[Refusal] = []

    async def read() -> None:
        try:
            await export(thread.state, ExportParams(thread_id="thread-1"))
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
    params = ExportParams(thread_id=state.id, format="unified", include_compacted=True)
    lines = [json.loads(line) for line in (await export(state, params)).content.splitlines()]
    assert [line["text"] for line in lines if line["type"] == "message"] == [
        "pruned prompt",
        "pruned answer",
        "kept prompt",
        "kept answer",
    ]
    assert (lines[0]["session"]["agent"], lines[-1]["type"]) == ("trimpoint", "end")
    short = await export(state, ExportParams(thread_id=state.id, format="unified"))
    assert "pruned prompt" not in short.content.split("\n", 1)[1]
    monkeypatch.setattr(session_export, "MAX_EXPORT_BYTES", 300)
    with pytest.raises(Refusal, match="too large"):
        await export(state, params)
