"""The kinds of entries that a search of the history tells apart. Apart from the messages, so that
the command line's parser need not load what encodes them.
"""

from typing import Literal

__all__ = ["HistoryKind"]

HistoryKind = Literal[
    "user", "assistant", "command", "fileChange", "toolCall", "reasoning", "plan", "other"
]
