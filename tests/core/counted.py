"""A ledger that tells how much of it is read."""

from typing import Any, TypeVar

T = TypeVar("T")


class Counted(list[T]):
    """A list that counts the turns or entries that are read."""

    looked_at = 0

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        self.looked_at += len(found) if isinstance(index, slice) else 1
        return found

    def __iter__(self) -> Any:
        self.looked_at += len(self)
        return super().__iter__()
