"""Sessions of an editor are loaded with their whole history, resumed, listed, closed and
deleted.
"""

import anyio
import pytest
from trimpoint.testkit import hang, reasoning, run, say

from tests.acp.editor import Editor, Json, Refused, opened_editor
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex


async def _loaded(harness: Harness, editor: Editor, session_id: str) -> None:
    await editor.request(
        "session/load", sessionId=session_id, cwd=str(harness.worktree), mcpServers=[]
    )


def _shown(editor: Editor) -> list[tuple[str, str]]:
    told = {
        "user_message_chunk": lambda one: one["content"]["text"],
        "agent_message_chunk": lambda one: one["content"]["text"],
        "agent_thought_chunk": lambda one: one["content"]["text"],
        "tool_call": lambda one: f"{one['title']}: {one['status']}",
        "compaction_update": lambda one: "".join(part["text"] for part in one.get("summary", [])),
    }
    return [
        (one["sessionUpdate"], told[one["sessionUpdate"]](one))
        for one in editor.updates()
        if one["sessionUpdate"] in told
    ]


async def test_a_session_is_loaded_whole_with_its_trims_and_summaries(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")
    harness.script.then(reasoning("Let me see.") + run("echo printed"), say("It printed."))
    await editor.prompt(session_id, "Print something.")
    await editor.prompt(session_id, "/compact --force")
    harness.script.then(say("That was all."))
    await editor.prompt(session_id, "Was it?")
    async with opened_editor(harness) as later:
        await later.introduce(session={"compaction": {}})
        await _loaded(harness, later, session_id)
        before_answer = _shown(later)
        assert before_answer == [
            ("user_message_chunk", "Print something."),
            ("agent_thought_chunk", "Let me see."),
            ("tool_call", "echo printed: completed"),
            ("agent_message_chunk", "It printed."),
            ("compaction_update", "The gist of it all."),
            ("user_message_chunk", "Was it?"),
            ("agent_message_chunk", "That was all."),
        ]
        [call] = later.updates("tool_call")
        assert "printed" in call["content"][0]["content"]["text"]
        assert call["rawOutput"]["exitCode"] == 0
        await later.update("available_commands_update")
        await later.update("usage_update")
        assert (await later.update("session_info_update"))["title"] == "Print something."
        await later.prompt(session_id, "Go on.")
    assert harness.model.requests[-1].mentions("The gist of it all.")


async def test_an_editor_without_compactions_sees_a_trim_as_a_line(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.prompt(session_id, "One.")
    await editor.prompt(session_id, "/clear")
    async with opened_editor(harness) as later:
        await later.introduce()
        await _loaded(harness, later, session_id)
        line = "── 2 earlier messages are no longer in the agent's context ──"
        assert ("agent_thought_chunk", line) in _shown(later)


async def test_a_resumed_session_continues_without_a_replay(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    harness.script.then(say("I know it."))
    await editor.prompt(session_id, "Know this.")
    async with opened_editor(harness) as later:
        await later.introduce()
        await later.request("session/resume", sessionId=session_id, cwd=str(harness.worktree))
        await later.update("available_commands_update")
        assert not _shown(later)
        await later.prompt(session_id, "What?")
    assert harness.model.requests[-1].mentions("I know it.")


async def test_a_session_that_was_never_prompted_can_be_loaded(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    async with opened_editor(harness) as later:
        await later.introduce()
        await _loaded(harness, later, session_id)
        await later.prompt(session_id, "Hello.")
    assert harness.model.requests[-1].mentions("Hello.")


async def test_sessions_are_listed_by_folder_with_their_titles(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.prompt(session_id, "Mend the roof.\nIt leaks.")
    assert (await editor.update("session_info_update"))["title"] == "Mend the roof."
    other = harness.home / "other"
    other.mkdir()
    answer = await editor.request("session/new", cwd=str(other), mcpServers=[])
    await editor.prompt(answer["sessionId"], "Elsewhere.")
    listed = await editor.request("session/list", cwd=str(harness.worktree))
    [row] = listed["sessions"]
    assert (row["sessionId"], row["title"]) == (session_id, "Mend the roof.")
    assert row["cwd"] == str(harness.worktree)
    assert row["updatedAt"].endswith("Z")
    everything = await editor.request("session/list")
    assert len(everything["sessions"]) == 2


async def test_two_sessions_run_side_by_side(harness: Harness, editor: Editor) -> None:
    first, second = await editor.new_session(harness), await editor.new_session(harness)
    gate = anyio.Event()
    harness.script.then(hang("I wait", until=gate))
    waiting = await editor.begin_prompt(first, "Wait.")
    await editor.update("agent_message_chunk")
    harness.script.then(say("At once."))
    assert await editor.prompt(second, "Now.") == {"stopReason": "end_turn"}
    gate.set()
    assert await editor.result_of(waiting) == {"stopReason": "end_turn"}


async def test_a_closed_session_ends_its_turn_and_can_be_loaded_again(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    harness.script.then(hang("I begin", until=anyio.Event()))
    prompt = await editor.begin_prompt(session_id, "Never end.")
    await editor.update("agent_message_chunk")
    assert await editor.request("session/close", sessionId=session_id) == {}
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    with pytest.raises(Refused) as refused:
        await editor.prompt(session_id, "Hello?")
    assert refused.value.code == -32002
    await _loaded(harness, editor, session_id)
    assert await editor.prompt(session_id, "Hello.") == {"stopReason": "end_turn"}


async def test_a_deleted_session_is_listed_no_more_and_says_how_to_have_it_back(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.prompt(session_id, "One.")
    assert await editor.request("session/delete", sessionId=session_id) == {}
    assert (await editor.request("session/list"))["sessions"] == []
    assert await editor.request("session/delete", sessionId=session_id) == {}
    with pytest.raises(Refused) as refused:
        await _loaded(harness, editor, session_id)
    assert refused.value.code == -32602
    assert f"trimpoint threads unarchive {session_id}" in refused.value.message


async def test_a_prompt_to_a_session_that_another_editor_has_deleted_says_how_to_have_it_back(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.prompt(session_id, "One.")
    async with opened_editor(harness) as other:
        await other.introduce()
        await other.request("session/delete", sessionId=session_id)
    with pytest.raises(Refused) as refused:
        await editor.prompt(session_id, "Two.")
    assert f"trimpoint threads unarchive {session_id}" in refused.value.message


async def test_a_session_begins_in_no_folder_that_does_not_exist(
    harness: Harness, editor: Editor
) -> None:
    with pytest.raises(Refused) as refused:
        await editor.request("session/new", cwd=str(harness.home / "gone"), mcpServers=[])
    assert refused.value.code == -32602
    assert "There is no folder" in refused.value.message


async def test_a_cursor_of_another_list_is_refused_in_words(editor: Editor) -> None:
    with pytest.raises(Refused) as refused:
        await editor.request("session/list", cursor="nonsense")
    assert refused.value.code == -32602
    assert "session/list" in refused.value.message


@pytest.mark.parametrize("unknown", ["nonsense", "019dd000-0000-7000-8000-000000000000"])
async def test_an_unknown_session_is_refused(
    harness: Harness, editor: Editor, unknown: str
) -> None:
    with pytest.raises(Refused) as refused:
        await _loaded(harness, editor, unknown)
    assert refused.value.code == -32002


async def test_a_session_keeps_the_settings_of_before_when_it_is_loaded(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")

    async def choose(option: str, value: str) -> Json:
        wanted = {"sessionId": session_id, "configId": option, "value": value}
        answer = await editor.request("session/set_config_option", **wanted)
        return {one["id"]: one for one in answer["configOptions"]}

    models = (await choose("mode", "full-access"))["model"]["options"]
    options = await choose("model", next(one["value"] for one in models if one["value"] != "gpt-5"))
    assert "high" in [one["value"] for one in options["reasoning_effort"]["options"]]
    await choose("reasoning_effort", "high")
    await editor.prompt(session_id, "One.")
    await editor.prompt(session_id, "/new")
    async with opened_editor(harness) as later:
        await later.introduce()
        answer = await later.request(
            "session/resume", sessionId=session_id, cwd=str(harness.worktree)
        )
    assert answer["modes"]["currentModeId"] == "full-access"
    effort = next(one for one in answer["configOptions"] if one["id"] == "reasoning_effort")
    assert effort["currentValue"] == "high"
