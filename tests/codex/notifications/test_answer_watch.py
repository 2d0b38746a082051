"""Which notifications count as an answer of the model; only an answer lets a repeated turn replace
the thread's provider thread.
"""

from typing import Any

import anyio
import pytest
from trimpoint.codex.notifications.message import CodexMessage
from trimpoint.operations.compaction.answer_watch import AnswerWatch
from trimpoint.operations.compaction.compaction import CompactionFailed

from tests.deadlines import STEP_S

STARTED = ("turn/started", {"turn": {"id": "turn-1"}})
PROMPT = ("item/started", {"item": {"type": "userMessage"}})
RAW_PROMPT = ("rawResponseItem/completed", {"item": {"type": "message", "role": "user"}})
COMPACTS = ("item/started", {"item": {"type": "contextCompaction"}})
COMPACTED = ("item/completed", {"item": {"type": "contextCompaction"}})
THINKS = ("rawResponseItem/completed", {"item": {"type": "reasoning"}})
Said = tuple[str, dict[str, Any]]


def watch(*said: Said) -> AnswerWatch:
    watch = AnswerWatch()
    for method, params in said:
        watch.on_message(CodexMessage.compose(method, params))
    return watch


def ends(status: str, error: str | None = None) -> Said:
    return "turn/completed", {
        "turn": {"id": "turn-1", "status": status, "error": error and {"message": error}}
    }


@pytest.mark.parametrize(
    "answer",
    [
        THINKS,
        ("rawResponseItem/completed", {"item": {"type": "custom_tool_call"}}),
        ("item/started", {"item": {"type": "agentMessage"}}),
        ("item/completed", {"item": {"type": "commandExecution"}}),
        ("item/agentMessage/delta", {"delta": "I"}),
        ("item/tool/requestUserInput", {"questions": []}),
        ends("completed"),
    ],
    ids=lambda said: said[0],
)
async def test_the_model_has_answered(answer: Said) -> None:
    heard = watch(STARTED, PROMPT, RAW_PROMPT, answer, ends("failed", "boom"))
    with anyio.fail_after(STEP_S):
        await heard.answered()
    assert heard.turn_id == "turn-1"


@pytest.mark.parametrize(
    "said",
    [
        (THINKS, STARTED),
        (STARTED, PROMPT, RAW_PROMPT),
        (STARTED, COMPACTS, THINKS, COMPACTED),
        (STARTED, ("thread/tokenUsage/updated", {}), ("warning", {})),
    ],
    ids=["before the turn", "the prompt", "a compaction", "something else"],
)
async def test_an_answer_watch_is_unanswered_before_the_model_answers(
    said: tuple[Said, ...],
) -> None:
    with anyio.fail_after(STEP_S):
        with pytest.raises(CompactionFailed, match="no room"):
            await watch(*said, ends("failed", "no room")).answered()
        with pytest.raises(CompactionFailed, match="without an answer"):
            await watch(*said, ends("interrupted")).answered()


async def test_an_aborted_answer_watch_never_answers() -> None:
    heard = watch(STARTED)
    heard.abort("Codex went away")
    with anyio.fail_after(STEP_S), pytest.raises(CompactionFailed, match="Codex went away"):
        await heard.answered()
