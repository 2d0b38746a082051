"""Which masks are made, of a thread or of a log."""

from dataclasses import dataclass

from trimpoint.core.decide.masking import worthwhile
from trimpoint.core.model.decision import DiscardPolicy


@dataclass
class Freed:
    freed_tokens: int


def test_what_frees_nothing_or_too_much_is_passed_over() -> None:
    policy = DiscardPolicy(floor_tokens=1_000)
    masks = [Freed(0), Freed(9_500), Freed(5_000), Freed(2_000), Freed(1_000)]
    assert list(worthwhile(masks, 10_000, 3_500, policy)) == [Freed(5_000), Freed(2_000)]
    assert list(worthwhile(masks, 3_500, 3_500, policy)) == []
