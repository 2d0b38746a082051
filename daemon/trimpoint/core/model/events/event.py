"""Defines the common part of all events."""

from typing import ClassVar

import msgspec


class Event(msgspec.Struct, frozen=True, array_like=True):
    """Common base. `private` names the fields that no client is shown (provider ids, raw model
    items).
    """

    private: ClassVar[frozenset[str]] = frozenset()
