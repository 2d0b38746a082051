"""The cases of acpx's conformance suite and the required ones of acpcomply, reworded. Cases that
other files here cover (streaming, cancelling, permissions, loading) are there.
"""

from typing import Any

import anyio
import pytest
from trimpoint.testkit import hang, run, say

from tests.acp.editor import EVERYTHING, Editor, Json, Refused, opened_editor
from tests.e2e.conftest import Harness

pytestmark = pytest.mark.codex

UNGATED = {
    "user_message_chunk",
    "agent_message_chunk",
    "agent_thought_chunk",
    "tool_call",
    "tool_call_update",
    "plan",
    "available_commands_update",
    "current_mode_update",
    "config_option_update",
    "session_info_update",
    "usage_update",
}


async def _refused(editor: Editor, method: str, **params: Any) -> Refused:
    with pytest.raises(Refused) as refused:
        await editor.request(method, **params)
    return refused.value


@pytest.mark.each_case(reason="each row is another editor")
@pytest.mark.parametrize("version", [1, 2, 99, "1", "1.0.0", 0])
async def test_every_editor_is_answered_version_1(harness: Harness, version: Any) -> None:
    async with opened_editor(harness) as editor:
        answer = await editor.request("initialize", protocolVersion=version)
    assert answer["protocolVersion"] == 1
    assert answer["agentCapabilities"]["loadSession"] is True
    assert answer["agentInfo"]["name"] == "trimpoint"
    assert answer["authMethods"] == []


async def test_requests_before_initialize_are_refused(harness: Harness) -> None:
    async with opened_editor(harness) as editor:
        refused = await _refused(editor, "session/new", cwd="/", mcpServers=[])
        assert refused.code == -32600


async def test_an_authentication_that_is_not_needed_succeeds(
    harness: Harness, editor: Editor
) -> None:
    assert await editor.request("authenticate", methodId="chatgpt") == {}


@pytest.mark.parametrize("method", ["session/nonsense", "_vendor/extension", "session/set_model"])
async def test_an_unknown_method_is_refused_as_unknown(
    harness: Harness, editor: Editor, method: str
) -> None:
    assert (await _refused(editor, method, any=1)).code == -32601


async def test_an_unknown_notification_is_ignored(harness: Harness, editor: Editor) -> None:
    await editor.notify("_vendor/notification", any=1)
    await editor.notify("session/cancel", wrong=1)
    assert await editor.new_session(harness)


@pytest.mark.each_case(reason="each row is another rule")
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"cwd": None, "mcpServers": []},
        {"cwd": 7, "mcpServers": []},
        {"cwd": "relative/path", "mcpServers": []},
        {"cwd": "/", "mcpServers": [], "additionalDirectories": ["relative"]},
        {
            "cwd": "/",
            "mcpServers": [{"type": "sse", "name": "a", "url": "http://x", "headers": []}],
        },
    ],
)
async def test_bad_parameters_of_a_session_are_refused(
    harness: Harness, editor: Editor, params: Json
) -> None:
    assert (await _refused(editor, "session/new", **params)).code == -32602


async def test_a_prompt_needs_a_session_and_something_to_say(
    harness: Harness, editor: Editor
) -> None:
    text = [{"type": "text", "text": "Hello."}]
    assert (await _refused(editor, "session/prompt", sessionId="none", prompt=text)).code == -32002
    session_id = await editor.new_session(harness)
    for prompt in ([], [{"type": "audio", "data": "", "mimeType": "audio/wav"}], "text", None):
        refused = await _refused(editor, "session/prompt", sessionId=session_id, prompt=prompt)
        assert refused.code == -32602
    assert await editor.prompt(session_id, "Hello.") == {"stopReason": "end_turn"}


async def test_lines_that_are_no_json_are_refused_and_the_next_one_works(
    harness: Harness, editor: Editor
) -> None:
    await editor.write(b"{nonsense\n\n   \n")
    answer = await editor.until(lambda message: message.get("id", 0) is None)
    assert answer["error"]["code"] == -32700
    assert await editor.new_session(harness)


async def test_a_cancel_of_an_idle_or_unknown_session_does_nothing(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.notify("session/cancel", sessionId=session_id)
    await editor.notify("session/cancel", sessionId="unknown")
    assert await editor.prompt(session_id, "Hello.") == {"stopReason": "end_turn"}


async def test_a_request_that_is_cancelled_by_its_id_ends_as_a_prompt_does(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    harness.script.then(hang("I begin", until=anyio.Event()))
    prompt = await editor.begin_prompt(session_id, "Never end.")
    await editor.update("agent_message_chunk")
    await editor.notify("$/cancel_request", requestId=prompt)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}


async def test_no_update_of_a_turn_follows_the_answer_to_its_prompt(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")
    harness.script.then(run("echo one"), run("echo two"), say("Done."))
    prompt = await editor.begin_prompt(session_id, "Run two commands.")
    await editor.result_of(prompt)
    await editor.prompt(session_id, "/status")
    place = next(
        index for index, message in enumerate(editor.received) if message.get("id") == prompt
    )
    later = {one["sessionUpdate"] for one in editor.updates(after=place)}
    assert not later & {"tool_call", "tool_call_update", "agent_thought_chunk"}
    assert "Done." not in editor.said(after=place)


async def test_a_second_prompt_goes_into_the_turn_that_runs(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    gate = anyio.Event()
    harness.script.then(hang("I begin", until=gate))
    first = await editor.begin_prompt(session_id, "Begin.")
    await editor.update("agent_message_chunk")
    second = await editor.begin_prompt(session_id, "Also this.")
    gate.set()
    assert await editor.result_of(first) == {"stopReason": "end_turn"}
    assert await editor.result_of(second) == {"stopReason": "end_turn"}
    await editor.prompt(session_id, "What did I say?")
    assert harness.model.requests[-1].mentions("Also this.")


@pytest.mark.parametrize("offered", [{}, None, 7, {"session": None, "elicitation": "yes"}])
async def test_an_editor_that_offers_nothing_gets_only_what_every_editor_can_show(
    harness: Harness, offered: Any
) -> None:
    async with opened_editor(harness) as editor:
        await editor.request("initialize", protocolVersion=1, clientCapabilities=offered)
        session_id = await editor.new_session(harness)
        await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")
        harness.script.then(run("echo printed"), say("It ran."))
        await editor.prompt(session_id, "Run it.")
        await editor.prompt(session_id, "/compact --force")
        await editor.request(
            "session/load", sessionId=session_id, cwd=str(harness.worktree), mcpServers=[]
        )
        assert {one["sessionUpdate"] for one in editor.updates()} <= UNGATED
        ended = await editor.update("tool_call_update", status="completed")
        assert ended["content"][0]["content"]["text"] == "```\nprinted\n```"
        assert not [one for one in editor.received if "id" in one and "method" in one]


async def test_an_editor_that_offers_everything_gets_terminals_notices_and_compactions(
    harness: Harness,
) -> None:
    async with opened_editor(harness) as editor:
        await editor.introduce(**EVERYTHING)
        session_id = await editor.new_session(harness)
        await editor.request("session/set_mode", sessionId=session_id, modeId="full-access")
        harness.script.then(run("printf 'one\\ntwo\\n'"), say("It ran."))
        await editor.prompt(session_id, "Run it.")
        [call] = editor.updates("tool_call")
        assert call["content"] == [{"type": "terminal", "terminalId": call["toolCallId"]}]
        assert call["_meta"]["terminal_info"]["terminal_id"] == call["toolCallId"]
        metas = [one.get("_meta", {}) for one in editor.updates("tool_call_update")]
        shown = "".join(
            meta["terminal_output"]["data"] for meta in metas if "terminal_output" in meta
        )
        assert shown.replace("\r", "").endswith("one\ntwo\n")
        exits = [meta["terminal_exit"] for meta in metas if "terminal_exit" in meta]
        assert [one["exit_code"] for one in exits] == [0]
        await editor.update("notice")
        await editor.prompt(session_id, "/clear")
        await editor.update("compaction_update", status="completed")


async def test_images_and_attached_files_reach_the_model_and_come_back(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    pixel = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Er"
        "kJggg=="
    )
    image = {"type": "image", "data": pixel, "mimeType": "image/png", "uri": "file:///gone.png"}
    file = {"uri": "file:///src/a.py", "text": "print('attached')", "mimeType": "text/x-python"}
    link = {"type": "resource_link", "name": "b.py", "uri": "file:///src/b.py"}
    blocks = [image, {"type": "resource", "resource": file}, link]
    await editor.prompt(session_id, "Look at these.", *blocks)
    request = harness.model.requests[-1]
    assert request.mentions("data:image/png;base64,")
    assert request.mentions("print('attached')")
    assert request.mentions("[@b.py](file:///src/b.py)")
    async with opened_editor(harness) as later:
        await later.introduce()
        await later.request(
            "session/load", sessionId=session_id, cwd=str(harness.worktree), mcpServers=[]
        )
        blocks = [one["content"] for one in later.updates("user_message_chunk")]
    assert [one["type"] for one in blocks] == ["text", "image", "text", "text"]
    assert blocks[1]["mimeType"] == "image/png"


async def test_a_mode_that_is_not_there_is_refused_with_those_that_are(
    harness: Harness, editor: Editor
) -> None:
    session_id = await editor.new_session(harness)
    refused = await _refused(editor, "session/set_mode", sessionId=session_id, modeId="nonsense")
    assert refused.code == -32602
    assert "workspace" in refused.message
    wanted = {"sessionId": session_id, "configId": "mode", "value": "ask"}
    options = (await editor.request("session/set_config_option", **wanted))["configOptions"]
    assert {one["id"]: one["currentValue"] for one in options}["mode"] == "ask"
    assert (
        await _refused(editor, "session/set_config_option", **{**wanted, "value": 7})
    ).code == -32602


async def test_a_prompt_that_waits_for_an_mcp_server_can_be_cancelled(
    harness: Harness, editor: Editor
) -> None:
    server = {"name": "silent", "command": "/bin/cat", "args": [], "env": []}
    session_id = await editor.new_session(harness, mcpServers=[server])
    prompt = await editor.begin_prompt(session_id, "Hello.")
    await editor.notify("session/cancel", sessionId=session_id)
    assert await editor.result_of(prompt) == {"stopReason": "cancelled"}
    assert not harness.model.requests
