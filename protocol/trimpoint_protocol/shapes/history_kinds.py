"""The kinds of entries that a search of the history distinguishes.

They are in a module of their own so that the command line's parser need not import the message
types.
"""

from typing import Literal

__all__ = ["HistoryKind"]

HistoryKind = Literal[
    "user", "assistant", "command", "fileChange", "toolCall", "reasoning", "plan", "other"
]
