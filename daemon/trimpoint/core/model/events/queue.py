"""Events of the queue: prompts that wait until the thread can take them."""

from trimpoint.core.model.events.event import Event


class PromptQueued(Event, frozen=True, array_like=True, tag="thread.prompt-queued"):
    """A prompt was added at the end of the queue. `input` is the prompt as `turn/start` takes it
    (JSON); None in the repeated answer of a command, where the prompt is long.
    """

    prompt_id: str
    input: bytes
    client_user_message_id: str


class PromptEdited(Event, frozen=True, array_like=True, tag="thread.prompt-edited"):
    """A queued prompt was replaced by `input`, in its place."""

    prompt_id: str
    input: bytes


class PromptsReordered(Event, frozen=True, array_like=True, tag="thread.prompts-reordered"):
    """The queued prompts have this order now."""

    prompt_ids: tuple[str, ...]


class PromptWithdrawn(Event, frozen=True, array_like=True, tag="thread.prompt-withdrawn"):
    """A queued prompt was taken out of the queue; it was not sent."""

    prompt_id: str


class PromptSent(Event, frozen=True, array_like=True, tag="thread.prompt-sent"):
    """A queued prompt left the queue: Codex accepted it as the turn `turn_id`."""

    prompt_id: str
    turn_id: str


class QueueHeld(Event, frozen=True, array_like=True, tag="thread.queue-held"):
    """No queued prompt is sent until a turn begins or the queue is released. `reason`: interrupted
    (a person interrupted the turn) | failed (the turn failed) | refused (the prompt was not
    accepted); `message` is the error, if there is one.
    """

    reason: str
    message: str


class QueueReleased(Event, frozen=True, array_like=True, tag="thread.queue-released"):
    """The queued prompts are sent again, beginning with the first."""
