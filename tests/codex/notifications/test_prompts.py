"""The newest prompts are kept, and at most one for each of a bounded number of threads."""

from msgspec import Raw
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import ThreadState
from trimpoint.operations.routing.prompts import MAX_THREADS, Prompts


def kept(prompts: Prompts, thread_id: str, turn_id: str = "turn") -> bool:
    try:
        return prompts.of(ThreadState(id=thread_id), turn_id) == {"model": "m"}
    except KeyError:  # it was looked for in a ledger, and that is empty
        return False


def test_the_oldest_is_let_go_when_there_are_too_many() -> None:
    prompts = Prompts()
    for number in range(MAX_THREADS):
        prompts.note(f"t{number}", "turn", {"model": Raw(b'"m"')})
    prompts.note("t0", "another turn", {"model": Raw(b'"m"')})
    prompts.note("one more", "turn", {"model": Raw(b'"m"')})
    assert kept(prompts, "t0", "another turn")
    assert kept(prompts, "one more")
    assert kept(prompts, "t2")
    assert not kept(prompts, "t1")


def test_parameters_that_steer_a_running_turn_do_not_replace_its_prompt() -> None:
    prompts = Prompts()
    prompts.note("t", "turn", {"model": Raw(b'"m"')})
    prompts.note("t", "turn", {"model": Raw(b'"other"')})
    assert kept(prompts, "t")


def test_the_prompt_of_another_turn_is_not_put_before_an_end() -> None:
    prompts, end = Prompts(), ev.TurnCompleted("other", "interrupted")
    assert prompts.before_end(ThreadState(id="t"), (end,)) == (end,)
    prompts.note("t", "turn", {"input": Raw(b'[{"type": "text", "text": "deploy"}]')})
    assert prompts.before_end(ThreadState(id="t"), (end,)) == (end,)
    [prompt, _] = prompts.before_end(ThreadState(id="t"), (ev.TurnCompleted("turn", "failed"),))
    assert isinstance(prompt, ev.EntryRecorded)
    assert (prompt.text, prompt.role, prompt.extent) == ("deploy", "user", ev.PART)
