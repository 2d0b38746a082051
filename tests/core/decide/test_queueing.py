"""The queue of prompts: what changes it, what is sent next, and what holds it."""

from typing import Any

import pytest
from trimpoint.core.decide.queueing import MAX_QUEUED, is_recorded, next_prompt
from trimpoint.core.model import commands as internal
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import ThreadState
from trimpoint.core.views.view import read_model
from trimpoint.threads.catalogue import is_unfinished
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from tests.core.given import Conversation, client, started, trim, user

IMAGE = {"type": "image", "url": "data:image/png;base64," + "A" * 5_000}


def text(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


def queued(*words: str, thread: Conversation | None = None) -> Conversation:
    """Returns a thread with a running turn and these prompts in its queue."""
    thread = thread or started()
    if thread.state.running_turn_id is None:
        thread.begin_turn()
    for one in words:
        thread.do(client(wire.QueuePrompt, input=text(one)))
    return thread


def test_a_read_model_has_the_queue() -> None:
    thread = queued("one", "two")
    shown = read_model(thread.state, Policy(), None)
    assert [prompt.input[0]["text"] for prompt in shown.queue] == ["one", "two"]


def names(state: ThreadState) -> list[str]:
    return [str(prompt.parts[0]["text"]) for prompt in state.queue]


def ids(thread: Conversation) -> list[str]:
    return [prompt.id for prompt in thread.state.queue]


def end_turn(thread: Conversation, status: str = "completed", error: str | None = None) -> None:
    turn_id = str(thread.state.running_turn_id)
    thread.report(ev.TurnCompleted(turn_id, status, error))


def test_a_prompt_waits_for_an_answer_of_a_person_and_not_for_a_sub_agent() -> None:
    thread = queued("one")
    end_turn(thread)
    thread.report(ev.RequestOpened("agent", "subAgent"))
    assert next_prompt(thread.state) is not None
    thread.report(ev.RequestOpened("question", "item/tool/requestUserInput"))
    assert next_prompt(thread.state) is None
    thread.report(ev.RequestClosed("question", "answered"))
    assert next_prompt(thread.state) is not None


def test_a_prompt_waits_for_the_end_of_the_turn_and_the_first_is_sent_next() -> None:
    thread = queued("one", "two")
    assert next_prompt(thread.state) is None
    end_turn(thread)
    prompt = next_prompt(thread.state)
    assert prompt is not None
    assert prompt.parts == text("one")
    assert is_unfinished(thread.state), "the next daemon has to send it"


def test_a_prompt_is_sent_to_an_idle_thread_at_once() -> None:
    thread = started(turns=1)
    thread.do(client(wire.QueuePrompt, input=text("one")))
    assert next_prompt(thread.state) is not None


def test_a_queue_is_edited_reordered_and_withdrawn_from() -> None:
    thread = queued("one", "two", "three")
    one, two, three = ids(thread)
    thread.do(client(wire.EditQueuedPrompt, prompt_id=two, input=[*text("TWO"), IMAGE]))
    thread.do(client(wire.ReorderQueue, prompt_ids=[three]))
    assert ids(thread) == [three, one, two]
    thread.do(client(wire.WithdrawQueuedPrompt, prompt_id=one))
    assert names(thread.state) == ["three", "TWO"]
    assert names(thread.replayed()) == ["three", "TWO"]
    assert thread.do(client(wire.ReorderQueue, prompt_ids=[three, two])).events == ()


@pytest.mark.parametrize(
    ("command", "members"),
    [
        (wire.EditQueuedPrompt, {"prompt_id": "gone", "input": text("x")}),
        (wire.WithdrawQueuedPrompt, {"prompt_id": "gone"}),
        (wire.ReorderQueue, {"prompt_ids": ["gone"]}),
        (wire.ReleaseQueue, {"prompt_id": "gone"}),
    ],
)
def test_a_prompt_that_is_not_queued_is_not_changed(
    command: type[wire.ClientCommand], members: dict[str, Any]
) -> None:
    queued("one").when(client(command, **members)).rejected(Reason.USAGE)


def test_what_cannot_be_sent_is_not_queued() -> None:
    thread = queued("one")
    [one] = ids(thread)
    thread.when(client(wire.QueuePrompt, input=text("/clear 3"))).rejected(Reason.USAGE)
    slip = thread.when(client(wire.QueuePrompt, input=text("/clear3"))).rejected(Reason.USAGE)
    assert "Did you mean /clear 3?" in slip.message
    thread.when(client(wire.EditQueuedPrompt, prompt_id=one, input=text(":undo"))).rejected(
        Reason.USAGE
    )
    long = text("a" * 1_048_577)
    thread.when(client(wire.QueuePrompt, input=long)).rejected(Reason.INVALID_PARAMS)
    thread.when(client(wire.ReorderQueue, prompt_ids=[one, one])).rejected(Reason.INVALID_PARAMS)
    started().when(client(wire.ReleaseQueue)).rejected(Reason.USAGE)
    thread.write(ev.ThreadArchived())
    thread.when(client(wire.QueuePrompt, input=text("two"))).rejected(Reason.THREAD_ARCHIVED)


def test_a_queue_has_an_end() -> None:
    thread = queued(*map(str, range(MAX_QUEUED)))
    thread.when(client(wire.QueuePrompt, input=text("more"))).rejected(Reason.USAGE)


@pytest.mark.parametrize("status", ["interrupted", "failed"])
def test_the_queue_is_held_behind_a_turn_that_did_not_complete(status: str) -> None:
    thread = queued("one", "two")
    end_turn(thread, status, "no luck")
    assert thread.state.hold is not None
    assert (thread.state.hold.reason, thread.state.hold.message) == (status, "no luck")
    assert next_prompt(thread.state) is None
    assert not is_unfinished(thread.state)
    thread.do(client(wire.ReleaseQueue, prompt_id=ids(thread)[1]))
    assert names(thread.state) == ["two", "one"]
    assert next_prompt(thread.state) is not None
    thread.when(client(wire.ReleaseQueue)).then()


def test_the_next_turn_ends_a_hold() -> None:
    thread = queued("one")
    end_turn(thread, "interrupted")
    thread.begin_turn("a prompt of the person")
    end_turn(thread)
    assert next_prompt(thread.state) is not None


def test_a_queue_that_was_emptied_is_not_held_for_the_next_prompt() -> None:
    thread = queued("one")
    end_turn(thread, "interrupted")
    thread.do(client(wire.WithdrawQueuedPrompt, prompt_id=ids(thread)[0]))
    thread.do(client(wire.QueuePrompt, input=text("two")))
    assert next_prompt(thread.state) is not None


def test_a_turn_that_is_repeated_after_an_overflow_holds_nothing() -> None:
    thread = queued("one")
    turn_id = str(thread.state.running_turn_id)
    end_turn(thread, "failed", "no room")
    assert thread.state.hold is not None
    thread.write(ev.TurnRetried(turn_id, "codex-turn", 1))
    assert thread.state.hold is None


def test_a_queue_continues_after_the_daemon_died_in_a_turn() -> None:
    thread = queued("one")
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    assert next_prompt(thread.state) is not None


def begun_from_queue() -> Conversation:
    """Returns a thread whose running turn began with the queued prompt "one"; "two" waits."""
    thread = queued("one", "two")
    end_turn(thread)
    prompt = thread.state.queue[0]
    thread.report(ev.TurnRequested(prompt.id))
    thread.report(
        ev.TurnStarted("from-queue", 1),
        ev.TurnRequestEnded(prompt.id, "from-queue"),
        ev.PromptSent(prompt.id, "from-queue"),
    )
    assert names(thread.state) == ["two"]
    return thread


def test_a_prompt_that_codex_never_had_is_first_in_the_queue_again_after_a_kill() -> None:
    thread = begun_from_queue()
    thread.do(client(wire.QueuePrompt, input=text("three")))
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    assert names(thread.state) == names(thread.replayed()) == ["one", "two", "three"]
    prompt = next_prompt(thread.state)
    assert prompt is not None
    assert is_recorded(thread.state, prompt) is None


def test_a_prompt_with_which_codex_ends_twice_is_not_sent_a_third_time() -> None:
    thread = begun_from_queue()
    thread.do(internal.AbandonOpenWork("Codex went away"))
    prompt = thread.state.queue[0]
    thread.report(ev.TurnRequested(prompt.id))
    thread.report(ev.TurnStarted("again", 1), ev.PromptSent(prompt.id, "again"))
    thread.do(internal.AbandonOpenWork("Codex went away"))
    assert names(thread.state) == ["one", "two"]
    assert next_prompt(thread.state) is None
    assert thread.state.hold is not None
    assert thread.state.hold.reason == "refused"


def test_an_image_that_codex_never_had_is_not_taken_for_recorded() -> None:
    thread = started()
    thread.do(client(wire.QueuePrompt, input=[IMAGE]))
    [prompt] = thread.state.queue
    thread.report(ev.TurnRequested(prompt.id))
    thread.report(ev.TurnStarted("from-queue", 1), ev.PromptSent(prompt.id, "from-queue"))
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    [prompt] = thread.state.queue
    assert is_recorded(thread.state, prompt) is None
    thread.report(user("from-queue", "[image: data:image/png;base64]"))
    assert is_recorded(thread.state, prompt) == "from-queue"


def test_an_entry_of_an_older_turn_says_nothing_of_the_running_one() -> None:
    thread = begun_from_queue()
    thread.report(user(thread.state.turns[0].id, "something late"))
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    assert names(thread.state) == ["one", "two"]


def test_a_prompt_that_codex_turns_out_to_have_leaves_the_queue_again() -> None:
    thread = begun_from_queue()
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    thread.report(user("from-queue", "one"))
    prompt = next_prompt(thread.state)
    assert prompt is not None
    assert is_recorded(thread.state, prompt) == "from-queue"


@pytest.mark.parametrize("status", ["completed", "interrupted"])
def test_a_prompt_that_codex_has_stays_out_of_the_queue(status: str) -> None:
    thread = begun_from_queue()
    thread.report(user("from-queue", "one"))
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    assert names(thread.state) == ["two"]
    thread = begun_from_queue()
    end_turn(thread, status)
    assert names(thread.state) == ["two"]
    assert thread.state.begun_with is None


def test_a_prompt_that_is_being_sent_is_not_changed_any_more() -> None:
    thread = queued("one", "two")
    end_turn(thread)
    one, two = ids(thread)
    thread.report(ev.TurnRequested(one))
    thread.when(client(wire.WithdrawQueuedPrompt, prompt_id=one)).rejected(Reason.TURN_IN_PROGRESS)
    thread.report(
        ev.TurnStarted("turn-9", 1),
        ev.TurnRequestEnded(one, "turn-9"),
        ev.PromptSent(one, "turn-9"),
    )
    assert ids(thread) == [two]


def test_a_prompt_whose_answer_was_lost_is_found_in_the_turns_that_codex_has() -> None:
    thread = queued("one", thread=started(turns=1))
    end_turn(thread)
    prompt_id = ids(thread)[0]
    thread.report(ev.TurnRequested(prompt_id))
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    [unsure] = thread.state.queue
    assert is_recorded(thread.state, unsure) is None
    thread.report(ev.TurnStarted("turn-8", 1), user("turn-8", "of another program"))
    end_turn(thread)
    assert is_recorded(thread.state, unsure) is None
    thread.report(ev.TurnStarted("turn-9", 1), user("turn-9", "one"))
    end_turn(thread)
    assert is_recorded(thread.state, unsure) == "turn-9"
    fresh = queued("one").state.queue[0]
    assert is_recorded(thread.state, fresh) is None


def test_a_long_prompt_is_not_kept_in_the_stored_answer() -> None:
    thread = started()
    thread.do(client(wire.QueuePrompt, input=[IMAGE]))
    [receipt] = thread.state.receipts.values()
    [event] = receipt.events
    assert isinstance(event, ev.PromptQueued)
    assert event.input == b""
    assert thread.state.queue[0].parts == [IMAGE]


def test_a_trim_keeps_the_queue() -> None:
    thread = queued("one", thread=started(turns=2))
    end_turn(thread, "interrupted")
    thread.do(trim(1))
    thread.settle()
    assert names(thread.state) == ["one"]


def test_a_prompt_that_codex_names_by_its_id_is_recorded_whatever_it_reads() -> None:
    thread = begun_from_queue()
    thread.do(internal.AbandonOpenWork("The daemon was restarted."))
    prompt = next_prompt(thread.state)
    assert prompt is not None
    turn_id, client_id = thread.state.turns[-1].id, prompt.client_user_message_id
    said = ev.EntryRecorded(turn_id, "u", "message", "user", "[a file]", client_id=client_id)
    thread.report(said)
    [prompt] = [one for one in thread.state.queue if one.id == prompt.id]
    assert is_recorded(thread.state, prompt) == turn_id
