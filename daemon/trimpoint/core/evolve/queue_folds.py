"""Applies the events of the queue of prompts."""

import msgspec

from trimpoint.core.model import events as ev
from trimpoint.core.model.queue import Hold, QueuedPrompt
from trimpoint.core.model.state import MAX_RECEIPTS, ThreadState

MAX_KEPT_INPUT_BYTES = 4_096
"""A stored answer has no longer prompt: images are large, and a thread keeps many answers."""


def queue_prompt(state: ThreadState, event: ev.PromptQueued, at_ms: int) -> None:
    prompt = QueuedPrompt(event.prompt_id, event.input, event.client_user_message_id, at_ms)
    state.hold = state.hold if state.queue else None
    begun_with = state.begun_with
    if begun_with is not None and begun_with.id == event.prompt_id:
        state.queue = [msgspec.structs.replace(begun_with, came_back=True), *state.queue]
    else:
        state.queue = [*state.queue, prompt]


def edit_prompt(state: ThreadState, event: ev.PromptEdited, at_ms: int) -> None:
    state.queue = [
        # The prompt of a request that was not answered may be another one now.
        msgspec.structs.replace(one, input=event.input, sent_behind=None)
        if one.id == event.prompt_id
        else one
        for one in state.queue
    ]


def reorder_prompts(state: ThreadState, event: ev.PromptsReordered, at_ms: int) -> None:
    place = {name: at for at, name in enumerate(event.prompt_ids)}
    state.queue = sorted(state.queue, key=lambda one: place.get(one.id, len(place)))


def withdraw_prompt(state: ThreadState, event: ev.PromptWithdrawn, at_ms: int) -> None:
    state.queue = [one for one in state.queue if one.id != event.prompt_id]


def take_prompt(state: ThreadState, event: ev.PromptSent, at_ms: int) -> None:
    """Takes a prompt out of the queue, and keeps it until Codex has it."""
    if event.turn_id == state.running_turn_id and not state.entries_of(state.turns[-1]):
        state.begun_with = next((one for one in state.queue if one.id == event.prompt_id), None)
    state.queue = [one for one in state.queue if one.id != event.prompt_id]


def hold_queue(state: ThreadState, event: ev.QueueHeld, at_ms: int) -> None:
    state.hold = Hold(event.reason, event.message)


def release_queue(state: ThreadState, event: ev.QueueReleased, at_ms: int) -> None:
    state.hold = None


def note_read(state: ThreadState, client_id: str, turn_id: str) -> None:
    """Records that the agent has read the prompt to which a client gave this id, and drops the
    oldest if there are more than `MAX_RECEIPTS`.
    """
    state.prompts_read.pop(client_id, None)
    state.prompts_read[client_id] = turn_id
    if len(state.prompts_read) > MAX_RECEIPTS:
        del state.prompts_read[next(iter(state.prompts_read))]


def without_long_input(event: ev.AnyEvent) -> ev.AnyEvent:
    """Returns the event as a stored answer keeps it."""
    if isinstance(event, ev.PromptQueued | ev.PromptEdited):
        is_long = len(event.input) > MAX_KEPT_INPUT_BYTES
        return msgspec.structs.replace(event, input=b"") if is_long else event
    return event


def note_sending(state: ThreadState, request_id: str) -> None:
    """Records that a request for a turn has the id of a queued prompt, which it sends."""
    state.queue = [
        msgspec.structs.replace(one, sent_behind=len(state.turns)) if one.id == request_id else one
        for one in state.queue
    ]
