"""A prompt whose turn was interrupted at once stays in the history: Codex forgets it (measured:
0.163), and the person has written it.
"""

from typing import Any

import pytest

from tests.operations.stage import opened_stage

PROMPT = [{"type": "text", "text": "deploy"}]
TURN: dict[str, Any] = {"id": "T2", "items": [], "status": "inProgress", "error": None}


@pytest.mark.parametrize("status", ["interrupted", "failed", "completed"])
@pytest.mark.parametrize("is_taken_up", [False, True])
async def test_a_prompt_that_codex_has_not_taken_up_is_shown_and_not_sent(
    status: str, is_taken_up: bool
) -> None:
    async def begin(_: dict[str, Any]) -> Any:
        return {"turn": TURN}

    async with opened_stage() as stage:
        writer = await stage.thread("T1")
        stage.codex.answers["turn/start"] = begin
        await stage.ask("turn/start", input=PROMPT)
        if is_taken_up:
            item = {"type": "userMessage", "id": "m", "content": PROMPT}
            stage.says("item/completed", turnId="T2", item=item)
        stage.says("turn/completed", turn=TURN | {"status": status})
        await stage.hears("turn/completed")
        entries = [one for one in writer.state.entries if one.turn_id == "T2"]
        cut_off = not is_taken_up and status != "completed"
        shown = ["deploy"] if is_taken_up or cut_off else []
        assert [one.text for one in entries] == shown
        assert [one.is_part for one in entries] == ([cut_off] if shown else [])
