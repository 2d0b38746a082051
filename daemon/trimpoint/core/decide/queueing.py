"""Decides what changes the queue of prompts, and which prompt is sent next."""

from collections.abc import Sequence
from typing import Any

import msgspec
from trimpoint_protocol import commands as wire
from trimpoint_protocol.errors import Reason

from trimpoint.core.commands.parsing import NotACommand, UsageError, parse
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import (
    Accepted,
    Decision,
    Rejected,
    Stamp,
    brought_back,
    holds_prompts,
)
from trimpoint.core.model.queue import QueuedPrompt, texts_of
from trimpoint.core.model.state import ThreadState

MAX_QUEUED = 200
_ENDED_TWICE = "Codex ended twice as it was sent this prompt."
MAX_TEXT_CHARS = 1_048_576
"""As many characters of text as Codex takes in one prompt."""


def queue_prompt(state: ThreadState, command: wire.QueuePrompt, stamp: Stamp) -> Decision:
    """Adds a prompt at the end of the queue, unless the agent has read it: a client that sent it
    into a running turn may send it again under the same id.
    """
    if is_read(state, command):
        return Accepted(())
    if state.archived:
        problem = "The thread is archived and takes no prompts."
        return Rejected(Reason.THREAD_ARCHIVED, problem, hints=brought_back(state))
    if len(state.queue) >= MAX_QUEUED:
        return Rejected(
            Reason.USAGE, f"{MAX_QUEUED} prompts wait already; withdraw one, or wait for a turn."
        )
    if (refusal := refuse_input(command.input)) is not None:
        return refusal
    client_id = command.client_user_message_id or stamp.id
    return Accepted((ev.PromptQueued(stamp.id, _encoded(command.input), client_id),))


def edit_prompt(state: ThreadState, command: wire.EditQueuedPrompt) -> Decision:
    """Replaces a queued prompt."""
    refusal = _refuse_prompt(state, command.prompt_id) or refuse_input(command.input)
    return refusal or Accepted((ev.PromptEdited(command.prompt_id, _encoded(command.input)),))


def withdraw_prompt(state: ThreadState, command: wire.WithdrawQueuedPrompt) -> Decision:
    """Takes a prompt out of the queue."""
    refusal = _refuse_prompt(state, command.prompt_id)
    return refusal or Accepted((ev.PromptWithdrawn(command.prompt_id),))


def reorder_queue(state: ThreadState, command: wire.ReorderQueue) -> Decision:
    """Gives the queue another order. Prompts that are not named stay behind those that are, because
    another client may have added them meanwhile.
    """
    for prompt_id in command.prompt_ids:
        if (refusal := _refuse_prompt(state, prompt_id)) is not None:
            return refusal
    if len(set(command.prompt_ids)) < len(command.prompt_ids):
        return Rejected(Reason.INVALID_PARAMS, "A prompt is named twice.")
    present = [prompt.id for prompt in state.queue]
    others = [name for name in present if name not in command.prompt_ids]
    order = (*command.prompt_ids, *others)
    return Accepted((ev.PromptsReordered(order),) if list(order) != present else ())


def release_queue(state: ThreadState, command: wire.ReleaseQueue) -> Decision:
    """Has the queued prompts sent again, beginning with one of them if the command names it."""
    if not state.queue:
        return Rejected(Reason.USAGE, "No prompt is queued.")
    moved: tuple[ev.AnyEvent, ...] = ()
    if command.prompt_id is not None:
        if (refusal := _refuse_prompt(state, command.prompt_id)) is not None:
            return refusal
        others = [prompt.id for prompt in state.queue if prompt.id != command.prompt_id]
        moved = (ev.PromptsReordered((command.prompt_id, *others)),)
    released = () if state.hold is None else (ev.QueueReleased(),)
    return Accepted((*moved, *released))


def next_prompt(state: ThreadState) -> QueuedPrompt | None:
    """Returns the prompt that can be sent now, or None if the queue is empty or held, or the thread
    is archived or busy with more than sub-agents.
    """
    if not state.queue or state.hold is not None or state.archived or holds_prompts(state):
        return None
    return state.queue[0]


def is_read(state: ThreadState, command: wire.QueuePrompt) -> bool:
    """Returns whether the agent has read the prompt, which came to it in another way. A client says
    that it gives each prompt an id of its own by giving the command the same one.
    """
    name = command.client_user_message_id
    return name == command.command_id and name in state.prompts_read


def read_in(state: ThreadState, facts: Sequence[ev.AnyEvent]) -> tuple[ev.AnyEvent, ...]:
    """Returns the events that take those prompts out of the queue which the agent has read in
    another way: they were sent into the running turn too.
    """
    said = [one for one in facts if isinstance(one, ev.EntryRecorded) and one.client_id]
    return tuple(
        ev.PromptSent(prompt.id, one.turn_id)
        for one in said
        for prompt in state.queue
        if prompt.client_user_message_id == one.client_id
        and prompt.id not in state.turn_requests
        and all(text in one.text for text in texts_of(prompt.parts))
    )


def is_recorded(state: ThreadState, prompt: QueuedPrompt) -> str | None:
    """Returns the id of the turn that began with the prompt, which was sent before the daemon or
    Codex ended; None if Codex has recorded none.
    """
    if prompt.sent_behind is None:
        return None
    if (read_in := state.prompts_read.get(prompt.client_user_message_id)) is not None:
        return read_in
    # An image alone is named by its kind.
    texts = texts_of(prompt.parts) or [f"[{part.get('type')}:" for part in prompt.parts]
    for turn in state.turns[prompt.sent_behind :]:
        said = "\n".join(one.text for one in state.entries_of(turn) if one.role == "user")
        if all(text in said for text in texts):
            return turn.id
    return None


def taken_back(state: ThreadState) -> tuple[ev.AnyEvent, ...]:
    """Returns the events that put the prompt of the running turn back into the queue, if Codex had
    not said that it has the prompt when it or the daemon ended. `is_recorded` tells later whether
    it had. The second time the queue is held: it may be the prompt that ends Codex.
    """
    one = state.begun_with
    if one is None:
        return ()
    held = (ev.QueueHeld("refused", _ENDED_TWICE),) if one.came_back else ()
    return (ev.PromptQueued(one.id, one.input, one.client_user_message_id), *held)


def ends_unanswered(state: ThreadState, turn_id: str) -> bool:
    """Returns whether the thread's newest turn is this one, has completed, and ends with a prompt
    behind what the agent said: Codex took the prompt and asked the model no more.
    """
    at = state.turn_index.get(turn_id)
    if at is None or at != len(state.turns) - 1 or state.turns[at].status != "completed":
        return False
    if state.turns[at].error_kind == ev.PAUSED:
        return False  # the next turn answers it
    roles = [entry.role for entry in state.entries_of(state.turns[at])]
    return roles[-1:] == ["user"] and set(roles) != {"user"}


def held_by(state: ThreadState, facts: Sequence[ev.AnyEvent]) -> tuple[ev.AnyEvent, ...]:
    """Returns the event that holds the queue because the running turn ended as no person wanted the
    next prompt sent behind it; nothing if it did not.
    """
    ended = [one for one in facts if isinstance(one, ev.TurnCompleted)]
    if not state.queue or not ended or ended[-1].turn_id != state.running_turn_id:
        return ()
    last = ended[-1]
    if last.error_kind == ev.PAUSED:
        # Its work goes on first; the next turn releases the queue.
        return (ev.QueueHeld("interrupted", ""),)
    return (ev.QueueHeld(last.status, last.error or ""),) if last.status != "completed" else ()


def _refuse_prompt(state: ThreadState, prompt_id: str) -> Rejected | None:
    found = next((prompt for prompt in state.queue if prompt.id == prompt_id), None)
    if found is None:
        return Rejected(Reason.USAGE, "No such prompt is queued; it may have been sent meanwhile.")
    if found.id in state.turn_requests:
        return Rejected(Reason.TURN_IN_PROGRESS, "The prompt is being sent to the agent now.")
    return None


def refuse_input(parts: list[dict[str, Any]]) -> Rejected | None:
    """Returns the rejection of a prompt that cannot be queued, or None."""
    texts = texts_of(parts)
    if sum(map(len, texts)) > MAX_TEXT_CHARS:
        return Rejected(
            Reason.INVALID_PARAMS, f"A prompt has at most {MAX_TEXT_CHARS:,} characters."
        )
    parsed = parse("\n".join(texts))
    if isinstance(parsed, UsageError):
        return Rejected(Reason.USAGE, parsed.message)
    if not isinstance(parsed, NotACommand):
        return Rejected(
            Reason.USAGE,
            f"/{parsed.command} is a command and cannot be queued; nothing was sent to the agent. "
            "Send it when the thread is idle.",
        )
    return None


def _encoded(parts: list[dict[str, Any]]) -> bytes:
    return msgspec.json.encode(parts)
