"""A prompt that was sent into a running turn, and to the queue too, is taken once."""

import msgspec
import pytest
from trimpoint.core.decide.queueing import next_prompt
from trimpoint.core.model import events as ev
from trimpoint.core.model.state import MAX_RECEIPTS
from trimpoint_protocol import commands as wire

from tests.core.given import THREAD, Conversation, client, started, user

NAME, WORDS = "m1", "And the second thing."
SAME_WORDS = [{"type": "text", "text": WORDS}]
SENT_AGAIN = wire.QueuePrompt(
    command_id=NAME, thread_id=THREAD, input=SAME_WORDS, client_user_message_id=NAME
)


def running() -> Conversation:
    thread = started()
    thread.begin_turn()
    return thread


def read(thread: Conversation, name: str = NAME, words: str = WORDS) -> tuple[ev.AnyEvent, ...]:
    """Reports that the agent has read a prompt in the running turn."""
    said = user(str(thread.state.running_turn_id), words)
    return thread.report(msgspec.structs.replace(said, entry_id=f"read {name}", client_id=name))


def test_a_prompt_that_was_read_before_it_is_queued_is_not_queued() -> None:
    thread = running()
    read(thread)
    assert thread.do(SENT_AGAIN).events == ()
    assert thread.replayed().queue == []


def test_a_queued_prompt_leaves_the_queue_in_the_record_that_says_it_was_read() -> None:
    thread = running()
    thread.do(SENT_AGAIN)
    assert next_prompt(thread.state) is None, "the turn may read it yet"
    [prompt] = thread.state.queue
    assert read(thread)[-1] == ev.PromptSent(prompt.id, str(thread.state.running_turn_id))
    assert thread.state.queue == thread.replayed().queue == []


@pytest.mark.parametrize("status", ["completed", "interrupted"])
def test_a_prompt_that_was_not_read_stays_in_the_queue(status: str) -> None:
    thread = running()
    thread.do(SENT_AGAIN)
    thread.report(ev.TurnCompleted(str(thread.state.running_turn_id), status))
    assert len(thread.state.queue) == 1
    assert (next_prompt(thread.state) is None) == (status == "interrupted"), "held, and shown"


def test_what_was_read_in_a_turn_that_a_killed_daemon_missed_is_not_sent() -> None:
    thread = running()
    turn_id = str(thread.state.running_turn_id)
    thread.do(SENT_AGAIN)
    said = msgspec.structs.replace(user(turn_id, WORDS), entry_id="e", client_id=NAME)
    thread.report(ev.TurnCompleted(turn_id, "interrupted", items_heard=False))
    thread.report(said)
    assert thread.state.queue == []


@pytest.mark.parametrize(("name", "words"), [("m2", WORDS), (NAME, "Another thing.")])
def test_another_prompt_stays_in_the_queue(name: str, words: str) -> None:
    thread = running()
    thread.do(SENT_AGAIN)
    read(thread, name, words)
    assert len(thread.state.queue) == 1


def test_a_prompt_that_was_edited_since_is_another_one() -> None:
    thread = running()
    thread.do(SENT_AGAIN)
    edited = [{"type": "text", "text": "No, the third."}]
    thread.do(client(wire.EditQueuedPrompt, prompt_id=thread.state.queue[0].id, input=edited))
    read(thread)
    assert len(thread.state.queue) == 1


def test_a_prompt_that_is_being_sent_leaves_the_queue_with_its_turn() -> None:
    thread = started()
    thread.do(SENT_AGAIN)
    [prompt] = thread.state.queue
    thread.report(ev.TurnRequested(prompt.id))
    thread.report(ev.TurnStarted("t", thread.state.generation.number))
    read(thread)
    assert thread.state.queue == [msgspec.structs.replace(prompt, sent_behind=0)]


def test_a_client_that_gives_several_prompts_one_id_has_them_all_queued() -> None:
    thread = running()
    read(thread)
    for number in range(2):
        command = msgspec.structs.replace(SENT_AGAIN, command_id=f"c{number}")
        assert len(thread.do(command).events) == 1


def test_a_thread_knows_the_newest_prompts_that_were_read() -> None:
    thread = running()
    thread.trusts_decisions = True
    for number in range(MAX_RECEIPTS + 1):
        read(thread, f"n{number}")
    assert len(thread.state.prompts_read) == MAX_RECEIPTS
    assert "n0" not in thread.state.prompts_read
