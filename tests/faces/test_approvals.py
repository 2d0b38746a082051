"""An approval is a deliberate act, in each face that has keys."""

import pytest

from tests.faces.outcomes import RULE
from tests.faces.stage import Face

SENTENCE = "why? yes, a 12"
SETTLED_S = 0.8


# What a person does after the agent has asked, and the decisions that are sent. A number is a time
# that passes, a word in brackets a key, anything else is typed.
CASES: dict[str, tuple[list[float | str], list[object]]] = {
    "a sentence that is typed as it appears": ([SENTENCE], []),
    "a sentence that is typed later": ([SETTLED_S, SENTENCE], []),
    "a choice after going there": ([SETTLED_S, "[goes]", SETTLED_S, "[accept]"], ["accept"]),
    "a choice as it appears": (["[goes]", 0.1, "[accept]"], []),
    "a choice after one that was too soon": (
        ["[goes]", 0.1, "[accept]", "[goes]", SETTLED_S, "[accept]"], ["accept"],
    ),
    "the first step of a lasting permission": ([SETTLED_S, "[goes]", SETTLED_S, "[always]"], []),
    "a second step as it appears": (
        [SETTLED_S, "[goes]", SETTLED_S, "[always]", 0.1, "[write]"], [],
    ),
    "both steps of a lasting permission": (
        [SETTLED_S, "[goes]", SETTLED_S, "[always]", SETTLED_S, "[write]"], [RULE],
    ),
    "the way back from a lasting permission": (
        [SETTLED_S, "[goes]", SETTLED_S, "[always]", SETTLED_S, "[back]"], [],
    ),
    "a key that is held": (
        [SETTLED_S, "[goes]", SETTLED_S, "[accept]", 0.6, "[accept]", 0.03, "[accept]"],
        ["accept"],
    ),
}  # fmt: skip


@pytest.mark.each_case(reason="each row is another mistake")
@pytest.mark.parametrize("case", CASES)
async def test_only_a_deliberate_key_answers(face: Face, case: str) -> None:
    acts, decisions = CASES[case]
    await face.asks(1)
    await face.asks(2)
    for act in acts:
        if isinstance(act, float):
            await face.passes(act)
        elif act == "[goes]":
            await face.goes()
        elif act.startswith("["):
            await face.takes(act.strip("[]"))
        else:
            await face.types(act)
    assert await face.answers() == decisions


async def test_what_is_typed_while_a_question_appears_is_in_the_prompt(face: Face) -> None:
    await face.types("why ")
    await face.asks()
    await face.passes(SETTLED_S)
    await face.types("that? yes")
    assert await face.answers() == []
    assert await face.prompt() == "why that? yes"


async def test_a_lasting_permission_shows_the_rule_that_will_be_written(face: Face) -> None:
    await face.asks()
    await face.passes(SETTLED_S)
    await face.goes()
    await face.passes(SETTLED_S)
    assert "prefix_rule" not in await face.screen()
    await face.takes("always")
    shown = await face.screen()
    assert 'prefix_rule(pattern=["echo", "one"], decision="allow")' in shown
    assert "in every thread" in shown
