"""The requests of Codex's own terminal UI, sent as the UI sends them (docs/codex-tui.md)."""

import json
from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import RemoteError
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.operations import session_reactions
from trimpoint.testkit import held, say

from tests.deadlines import SCENARIO_S
from tests.e2e.codex.terminal_ui import TUI, begun, is_method, text_input
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = [pytest.mark.codex, pytest.mark.usefixtures("running_harness")]


async def test_a_command_that_would_steer_or_queue_is_refused_and_never_reaches_the_model(
    harness: Harness,
) -> None:
    go_on = anyio.Event()
    harness.script.then(held(say("done"), go_on))
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI, experimentalApi=True) as client:
            thread_id = await begun(harness, client)
            started = await client.request(
                "turn/start", threadId=thread_id, input=text_input("Work.")
            )
            turn_id = started["turn"]["id"]
            await harness.model.wait_for_request()
            for method, params in (
                ("turn/steer", {"expectedTurnId": turn_id}),
                ("thread/queue/add", {"clientUserMessageId": "m1"}),
            ):
                with pytest.raises(RemoteError) as refused:
                    await client.request(
                        method, threadId=thread_id, input=text_input(":clear 1"), **params
                    )
                assert refused.value.data["reason"] == "usage"
                # By this Codex's UI knows that it may send the text again when the turn has ended.
                info = (
                    {"activeTurnNotSteerable": {"turnKind": "compact"}}
                    if method == "turn/steer"
                    else None
                )
                assert (refused.value.data or {}).get("codexErrorInfo") == info
            go_on.set()
            await client.expect(lambda message: message.get("method") == "turn/completed")
    assert not any(request.mentions(":clear") for request in harness.model.requests)


async def test_the_echo_of_a_command_is_the_prompt_as_it_came(harness: Harness) -> None:
    elements = [{"byteRange": {"start": 0, "end": 8}, "placeholder": None}]
    content = [{"type": "text", "text": "/compact keep the numbers", "text_elements": elements}]
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI) as client:
            thread_id = await begun(harness, client)
            await client.request(
                "turn/start", threadId=thread_id, input=content, clientUserMessageId="mine"
            )
            done = await client.expect(lambda message: message.get("method") == "item/completed")
    assert done["params"]["item"]["clientId"] == "mine"
    assert done["params"]["item"]["content"] == content


async def test_a_chosen_entry_of_the_skill_menu_is_a_command(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with (
            harness.daemon(),
            harness.client(TUI) as client,
            harness.client("other") as other,
        ):
            [folder] = (await client.request("skills/list", cwds=[str(harness.worktree)]))["data"]
            ours = {
                skill["name"]: skill
                for skill in folder["skills"]
                if skill["path"].startswith("/trimpoint/")
            }
            [plain] = (await other.request("skills/list", cwds=[str(harness.worktree)]))["data"]
            thread_id = await begun(harness, client)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            await talk.turn()
            for text, answer in (
                ("$clear", "Context cleared"),
                ("please $clear", "There is no command"),
            ):
                skill = {"type": "skill", "name": "clear", "path": ours["clear"]["path"]}
                after = len(client.messages)
                await client.request(
                    "turn/start", threadId=thread_id, input=[*text_input(text), skill]
                )
                ended = await client.expect(
                    lambda message: message.get("method") == "turn/completed", after
                )
                assert ended["params"]["turn"]["items"][0]["text"].startswith(answer)
    assert list(ours) == [name for name in REGISTRY if name != "new"]
    assert not any(skill["path"].startswith("/trimpoint/") for skill in plain["skills"])
    assert not any(request.mentions("$clear") for request in harness.model.requests)


async def test_new_typed_in_a_client_with_a_new_of_its_own_changes_nothing(
    harness: Harness,
) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI) as client:
            thread_id = await begun(harness, client)
            await client.request("turn/start", threadId=thread_id, input=text_input(":new"))
            ended = await client.expect(lambda message: message.get("method") == "turn/completed")
            archived = await client.request("thread/list", archived=True)
    assert ended["params"]["turn"]["items"][0]["text"].startswith("Type /new without")
    assert not archived["data"]


async def test_a_thread_without_a_prompt_has_pages_for_a_client_that_comes_back(
    harness: Harness,
) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI, experimentalApi=True) as client:
            thread_id = await begun(harness, client)
            for method in ("thread/turns/list", "thread/items/list"):
                page = await client.request(method, threadId=thread_id)
                assert page == {"data": [], "nextCursor": None, "backwardsCursor": None}


async def test_an_ephemeral_fork_without_turns_is_made(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI, experimentalApi=True) as client:
            thread_id = await begun(harness, client)
            await Conversation(client, thread_id, harness.model, harness.script).turn()
            answer = await client.request(
                "thread/fork", threadId=thread_id, ephemeral=True, excludeTurns=True
            )
    assert answer["thread"]["ephemeral"]


async def test_a_thread_that_was_brought_back_is_archived_and_deleted_like_any_other(
    harness: Harness,
) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI) as client:
            thread_id = await begun(harness, client)
            await Conversation(client, thread_id, harness.model, harness.script).turn()
            for method in ("thread/archive", "thread/unarchive", "thread/archive"):
                await client.request(method, threadId=thread_id)
            archived = await client.request("thread/list", archived=True)
            await client.request("thread/unarchive", threadId=thread_id)
            await client.request("thread/delete", threadId=thread_id)
    assert [row["id"] for row in archived["data"]] == [thread_id]


async def test_a_thread_that_was_reverted_is_no_fork_of_its_own(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI, experimentalApi=True) as client:
            thread_id = await begun(harness, client)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            for _ in range(2):
                await talk.turn()
            await talk.type("/revert 1 --context")
            answer = await client.request("thread/resume", threadId=thread_id, excludeTurns=True)
    assert answer["thread"]["forkedFromId"] is None


async def test_a_thread_that_went_back_to_its_beginning_can_be_resumed(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI, experimentalApi=True) as client:
            thread_id = await begun(harness, client)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            await talk.turn()
            await talk.type("/revert 0 --context")
            after = len(client.messages)
            answer = await client.request("thread/resume", threadId=thread_id, excludeTurns=True)
            line = await client.expect(
                lambda message: (
                    message.get("method") == "item/completed"
                    and "Back to before" in message["params"]["item"].get("text", "")
                ),
                after,
            )
            request = await talk.turn()
    assert answer["thread"]["id"] == thread_id
    assert line["params"]["item"]["text"].endswith("To undo: :revert --undo")
    assert not request.mentions("prompt-1.")


async def test_a_trim_by_another_client_shows_a_line_and_the_new_size(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with (
            harness.daemon(),
            harness.client(TUI) as client,
            harness.client("other") as other,
        ):
            thread_id = await begun(harness, client)
            await Conversation(client, thread_id, harness.model, harness.script).turn()
            after = len(client.messages)
            await other.request("commands/execute", threadId=thread_id, text="/clear")
            usage = await client.expect(
                lambda message: message.get("method") == "thread/tokenUsage/updated", after
            )
            line = await client.expect(
                lambda message: message.get("method") == "item/completed", after
            )
            status = await other.request("context/status", threadId=thread_id)
    assert usage["params"]["tokenUsage"]["last"]["totalTokens"] == status["usedTokens"]
    assert line["params"]["item"]["text"].startswith("Context cleared")


async def test_the_outcome_of_a_typed_trim_is_shown_once(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI) as client:
            thread_id = await begun(harness, client)
            await Conversation(client, thread_id, harness.model, harness.script).turn()
            after = len(client.messages)
            await client.request("turn/start", threadId=thread_id, input=text_input(":clear"))
            await client.expect(lambda message: message.get("method") == "turn/completed", after)
            items = [
                m["params"]["item"]
                for m in client.messages[after:]
                if m.get("method") == "item/completed"
            ]
    assert [item["type"] for item in items] == ["userMessage", "agentMessage"]


async def test_a_new_thread_named_by_a_number_says_how_turns_are_kept(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI) as client:
            thread_id = await begun(harness, client, sessionStartSource="clear")
            await client.request("thread/name/set", threadId=thread_id, name="3")
            line = await client.expect(lambda message: message.get("method") == "item/completed")
    assert ":clear 3" in line["params"]["item"]["text"]


async def test_a_client_that_comes_back_to_a_trimmed_thread_is_told_its_size(
    harness: Harness,
) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client("any") as client:
            thread_id = await begun(harness, client)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            await talk.turn()
            await talk.type("/clear")
            async with harness.client("other") as other:
                await other.request("thread/resume", threadId=thread_id, excludeTurns=True)
                usage = await other.expect(is_method("thread/tokenUsage/updated"))
                status = await other.request("context/status", threadId=thread_id)
    assert usage["params"]["tokenUsage"]["last"]["totalTokens"] == status["usedTokens"]


async def test_the_history_of_a_trimmed_thread_shows_each_trim_where_it_was(
    harness: Harness,
) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with (
            harness.daemon(),
            harness.client(TUI) as client,
            harness.client("other") as other,
        ):
            thread_id = await begun(harness, client)
            talk = Conversation(client, thread_id, harness.model, harness.script)
            await talk.turn()
            await talk.type("/compact --force")
            await talk.turn()
            await talk.type("/clear")
            await talk.turn()
            shown = {}
            for reader in (client, other):
                page = await reader.request("thread/items/list", threadId=thread_id)
                shown[reader] = [row["item"]["type"] for row in page["data"]]
            whole = await other.request("thread/read", threadId=thread_id, includeTurns=True)
    turn = ["userMessage", "agentMessage"]
    compacted = [*turn, "contextCompaction"]
    assert shown[client] == [*compacted, *turn, "agentMessage", *turn]
    assert shown[other] == [*compacted, *turn, *turn]
    first, *_ = whole["thread"]["turns"]
    assert [item["type"] for item in first["items"]] == compacted


@pytest.mark.own_daemon
async def test_the_ui_is_not_sent_what_it_does_not_know(harness: Harness) -> None:
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon(), harness.client(TUI) as client:
            thread_id = await begun(harness, client)
            await Conversation(client, thread_id, harness.model, harness.script).turn()
            methods = {message.get("method") for message in client.messages}
    assert "turn/completed" in methods
    assert "context/updated" not in methods


class TestFooter:
    """The meter in the UI's status line."""

    READ = {"server": "trimpoint", "uri": "ui://trimpoint/context-meter"}

    def shown(self, answer: dict[str, Any]) -> list[str]:
        [content] = answer["contents"]
        tree = json.loads(content["text"])
        return [child["children"][0] for child in tree["children"]]

    def state_of(self, thread_id: str) -> dict[str, Any]:
        thread = {
            "id": thread_id,
            "name": "a chat",
            "model": {"display_name": "gpt-5", "reasoning_level": "low"},
            "workspace": {"cwd": "/work"},
        }
        return {"com.openai/codex-statusline-state": {"thread": thread}}

    async def test_the_status_line_has_the_uis_own_footer_and_the_meter(
        self, harness: Harness
    ) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client(TUI) as client:
                [server] = (await client.request("mcpServerStatus/list", serverName="trimpoint"))[
                    "data"
                ]
                thread_id = await begun(harness, client)
                talk = Conversation(client, thread_id, harness.model, harness.script)
                await talk.turn()
                await talk.type("/compact --force")
                meta = self.state_of(thread_id)
                answer = await client.request("mcpServer/resource/read", **self.READ, _meta=meta)
                status = await client.request("context/status", threadId=thread_id)
        [entry] = server["tools"]["context_meter"]["_meta"]["openai/ui"]["entrypoints"]
        assert entry["resourceUri"] == self.READ["uri"]
        known, [percent, tokens, times] = self.shown(answer)[:3], self.shown(answer)[3:]
        assert known == ["gpt-5 low", "/work", "a chat"]
        assert percent == f"Context: ~{round(status['percent'])}%"
        assert tokens.startswith("~")
        assert tokens.endswith("/258k")
        assert times == "compacted ×1"

    async def test_a_thread_without_a_meter_has_the_rest(self, harness: Harness) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client(TUI) as client:
                meta = self.state_of("00000000-0000-7000-8000-000000000000")
                answer = await client.request("mcpServer/resource/read", **self.READ, _meta=meta)
        assert self.shown(answer) == ["gpt-5 low", "/work", "a chat"]

    async def test_the_list_of_servers_has_it_for_the_ui_alone(self, harness: Harness) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client(TUI) as client, harness.client() as other:
                names = {}
                for reader in (client, other):
                    listed = await reader.request("mcpServerStatus/list")
                    names[reader] = [server["name"] for server in listed["data"]]
                with pytest.raises(RemoteError):
                    await other.request("mcpServer/resource/read", server="none", uri="ui://x")
        assert names[client] == [*names[other], "trimpoint"]


@pytest.mark.own_daemon
async def test_the_file_that_the_ui_was_told_of_stays_until_it_has_left(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_reactions, "TERMINAL_SWEEP_S", 0.05)
    with anyio.fail_after(SCENARIO_S):
        async with harness.daemon():
            async with harness.client(TUI) as ui:
                thread_id = await begun(harness, ui)
                talk = Conversation(ui, thread_id, harness.model, harness.script)
                await talk.turn()
                read = await ui.request("thread/read", threadId=thread_id)
                told = anyio.Path(read["thread"]["path"])
                for _ in range(2):
                    await talk.complete("/clear")
                    await talk.turn()
                    assert await told.exists()
            async with harness.client("another") as client:
                while await told.exists():  # noqa: ASYNC110 (a file)
                    await anyio.sleep(0.05)
                read = await client.request("thread/read", threadId=thread_id)
                assert await anyio.Path(read["thread"]["path"]).exists()
