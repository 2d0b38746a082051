"""How much a client may send and be sent, and how long its end may take."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one client, and how many seconds its end may take (docs/spec/running.md).

    A message larger than `max_outbox_bytes` can never be sent. While more than half of it is
    queued, no further messages are read from the client, so that a client which sends requests
    faster than it reads responses is slowed down, not dropped.
    """

    max_message_bytes: int = 64 * 1024 * 1024
    max_outbox_bytes: int = 64 * 1024 * 1024
    half_close_grace_s: float = 30.0
    close_grace_s: float = 2.0
