"""Nothing that is typed is lost, in each face, whatever becomes of it; and what is no command is
refused with the nearest name.
"""

from pathlib import Path

import pytest
from trimpoint.tui.session.drafts import Drafts

from tests.faces.outcomes import REFUSAL, Outcome
from tests.faces.stage import Face, chat_face

PROMPT = "make it blue"


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.LOST, Outcome.UNANSWERED])
async def test_a_prompt_that_was_not_taken_is_still_on_the_screen(
    face: Face, outcome: Outcome
) -> None:
    await face.decides(outcome)
    await face.types(PROMPT)
    await face.sends()
    shown = await face.screen()
    assert PROMPT in shown
    assert (REFUSAL in shown) == (outcome is Outcome.REFUSED)


async def test_a_prompt_that_was_taken_leaves_its_box(face: Face) -> None:
    await face.decides(Outcome.TAKEN)
    await face.types(PROMPT)
    await face.sends()
    assert await face.prompt() == ""


async def test_what_is_typed_behind_a_prompt_that_is_on_its_way_stays(face: Face) -> None:
    await face.decides(Outcome.UNANSWERED)
    await face.types(PROMPT)
    await face.sends()
    await face.types(" and big")
    assert (await face.prompt()).endswith("and big")
    assert PROMPT in await face.screen()


async def test_an_unknown_command_is_refused_with_the_nearest_name_and_stays(face: Face) -> None:
    await face.decides(Outcome.UNKNOWN)
    await face.types("/claer 3")
    await face.sends()
    shown = await face.screen()
    assert "Do you mean /clear?" in shown
    assert await face.prompt() == "/claer 3"


async def test_a_prompt_on_its_way_is_in_the_box_at_the_next_start_of_the_chat(
    tmp_path: Path,
) -> None:
    drafts = Drafts(tmp_path)
    async with chat_face(drafts) as face:
        await face.decides(Outcome.UNANSWERED)
        await face.types(PROMPT)
        await face.sends()
        await face.types("and big")
    async with chat_face(drafts) as face:
        assert await face.prompt() == f"{PROMPT}\n\nand big"
