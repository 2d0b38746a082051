"""A command that helps a person on."""

import msgspec

__all__ = ["CommandHint"]


class CommandHint(msgspec.Struct, frozen=True, rename="camel"):
    """A command that helps on, as it is typed in a chat (`/clear N`), and what it does, which
    continues the sentence (`keeps the last N turns`).
    """

    command: str
    text: str
