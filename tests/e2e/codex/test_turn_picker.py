"""The picker of turns for Codex's own terminal UI (docs/codex-tui.md)."""

from typing import Any

import anyio
import pytest
from trimpoint.cli.connection.client import Client

from tests.deadlines import SCENARIO_S
from tests.e2e.codex.terminal_ui import TUI, begun, is_method, text_input
from tests.e2e.conftest import Harness
from tests.e2e.conversation import Conversation

pytestmark = pytest.mark.codex


class TestTurnPicker:
    """`/clear` and `/revert` typed without a turn."""

    async def asked(
        self, harness: Harness, client: Client, text: str
    ) -> tuple[Conversation, dict[str, Any], str]:
        """Types `text` in a thread with three turns. Returns the conversation, the question that
        the person is asked, and the turn's id.
        """
        thread_id = await begun(harness, client)
        talk = Conversation(client, thread_id, harness.model, harness.script)
        for _ in range(3):
            await talk.turn()
        typed = await client.request("turn/start", threadId=thread_id, input=text_input(text))
        question = await client.expect(is_method("item/tool/requestUserInput"))
        return talk, question, typed["turn"]["id"]

    async def ended(self, client: Client) -> dict[str, Any]:
        message = await client.expect(
            lambda message: (
                message.get("method") == "turn/completed"
                and message["params"]["turn"]["items"] != []
                and message["params"]["turn"]["items"][0]
                .get("text", "")
                .startswith(("Context cleared", "Back to", "Nothing was chosen"))
            )
        )
        return dict(message["params"]["turn"])

    @pytest.mark.parametrize(
        ("chosen", "kept"), [("Nothing", 0), ("The last turn", 1), ("The last 2 turns", 2)]
    )
    async def test_a_clear_keeps_what_was_chosen(
        self, harness: Harness, chosen: str, kept: int
    ) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client(TUI) as client:
                talk, question, _ = await self.asked(harness, client, ":clear")
                [asked] = question["params"]["questions"]
                labels = [option["label"] for option in asked["options"]]
                answers = {asked["id"]: {"answers": [chosen]}}
                client.answer(question, {"answers": answers})
                await self.ended(client)
                await client.expect(is_method("serverRequest/resolved"))
                request = await talk.turn()
        assert labels == ["Everything", "The last turn", "The last 2 turns", "Nothing"]
        prompts = [one for one in ("prompt-1.", "prompt-2.", "prompt-3.") if request.mentions(one)]
        assert len(prompts) == kept

    async def test_a_revert_goes_back_to_the_turn_that_was_chosen(self, harness: Harness) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client(TUI) as client:
                talk, question, _ = await self.asked(harness, client, ":revert")
                [asked] = question["params"]["questions"]
                options = [(one["label"], one["description"]) for one in asked["options"]]
                client.refuse(question, "no")
                await self.ended(client)
                assert (await talk.snapshot())["turnCount"] == 3
        assert options == [
            ("Turn 2", "prompt-2."),
            ("Turn 1", "prompt-1."),
            ("The beginning", "before the first turn"),
        ]

    async def test_interrupting_takes_the_question_back_and_does_nothing(
        self, harness: Harness
    ) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client(TUI) as client:
                talk, question, turn_id = await self.asked(harness, client, ":clear")
                await client.request("turn/interrupt", threadId=talk.thread_id, turnId=turn_id)
                turn = await self.ended(client)
                resolved = await client.expect(is_method("serverRequest/resolved"))
                request = await talk.turn()
        assert turn["status"] == "interrupted"
        assert resolved["params"]["requestId"] == question["id"]
        assert request.mentions("prompt-1.")

    async def test_a_client_that_leaves_takes_its_question_along(self, harness: Harness) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client("other") as other:
                async with harness.client(TUI) as client:
                    talk, *_ = await self.asked(harness, client, ":clear")
                    await other.request("thread/resume", threadId=talk.thread_id, excludeTurns=True)
                assert (await self.ended(other))["status"] == "interrupted"

    async def test_other_clients_are_not_asked(self, harness: Harness) -> None:
        with anyio.fail_after(SCENARIO_S):
            async with harness.daemon(), harness.client("other") as client:
                thread_id = await begun(harness, client)
                talk = Conversation(client, thread_id, harness.model, harness.script)
                for _ in range(2):
                    await talk.turn()
                await talk.type("/clear")
                assert not client.questions
