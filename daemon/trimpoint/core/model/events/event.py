"""The base class of all events."""

from typing import ClassVar

import msgspec


class Event(msgspec.Struct, frozen=True, array_like=True):
    """Base class of all events. `private` names the fields that are never sent to clients: provider
    ids and raw items.
    """

    private: ClassVar[frozenset[str]] = frozenset()
