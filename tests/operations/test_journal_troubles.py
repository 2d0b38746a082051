"""People are told of a journal that cannot be written, and a turn that fills the memory ends."""

from trimpoint.operations.journal_troubles import INTERRUPTED, WRITTEN_AGAIN
from trimpoint.threads.writing.flushing import Trouble

from tests.operations.stage import ScriptedCodex, Stage, opened_stage, refusal
from tests.threads.stage import THREAD

FULL = Trouble("No space left on device", is_too_much=False)
TOO_MUCH = Trouble("No space left on device", is_too_much=True)


def happens(stage: Stage, trouble: Trouble | None) -> None:
    for listener in vars(stage.registry)["_trouble_subscribers"]:
        listener(THREAD, trouble)


def warnings(stage: Stage) -> list[str]:
    heard = [one["params"] for one in stage.client.received if one.get("method") == "warning"]
    assert all(one["threadId"] == THREAD for one in heard)
    return [str(one["message"]) for one in heard]


async def test_a_journal_that_cannot_be_written_is_reported_once_and_so_is_its_end() -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        for trouble in (FULL, FULL, None, FULL):
            happens(stage, trouble)
        first, again, second = warnings(stage)
        assert "No space left on device" in first
        assert (again, second) == (WRITTEN_AGAIN, first)
        assert stage.codex.count("turn/interrupt") == 0


async def test_a_turn_that_fills_the_memory_is_interrupted() -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        happens(stage, TOO_MUCH)
        happens(stage, TOO_MUCH)
        await stage.codex.until(lambda: "turn/interrupt" in stage.codex.answered)
        assert stage.codex.asked[-1] == ("turn/interrupt", {"threadId": THREAD, "turnId": ""})
        assert stage.codex.count("turn/interrupt") == 1
        assert warnings(stage)[-1] == INTERRUPTED


async def test_an_interrupt_that_codex_refuses_is_repeated_the_next_time() -> None:
    codex = ScriptedCodex()

    async def refuses(_: object) -> None:
        raise refusal("no active turn to interrupt")

    codex.answers["turn/interrupt"] = refuses
    async with opened_stage(codex) as stage:
        await stage.thread("T1")
        happens(stage, TOO_MUCH)
        await codex.until(lambda: codex.answered.count("turn/interrupt") == 1)
        happens(stage, TOO_MUCH)
        await codex.until(lambda: codex.answered.count("turn/interrupt") == 2)


async def test_a_thread_that_codex_has_not_loaded_has_no_turn_to_interrupt() -> None:
    async with opened_stage() as stage:
        await stage.thread("T1")
        stage.operations.threads.forget(THREAD)
        happens(stage, TOO_MUCH)
        await stage.operations.sessions.ready(THREAD)
        assert stage.codex.count("turn/interrupt") == 0
