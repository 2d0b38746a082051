"""The fit of the token estimate counts the same features as the estimate."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from trimpoint.core.model.text_weight import FEATURES, SCRIPTS, weigh_text
from trimpoint.core.model.tokens import estimate_text_tokens

from benchmarks.studies.token_fit import Piece, counted, errors_of, least_squares, names


def test_least_squares_finds_the_weights_that_made_the_targets() -> None:
    rows = [[1.0, 2.0, 0.0], [0.0, 1.0, 4.0], [3.0, 0.0, 1.0], [2.0, 2.0, 2.0]]
    weights = [0.5, -1.5, 2.0]
    targets = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rows]
    assert least_squares(rows, targets) == pytest.approx(weights)


# Both ends of each range, and their neighbours outside.
EDGES = [chr(edge) for one in SCRIPTS for a, b in one.ranges for edge in (a - 1, a, b, b + 1)]
MIXED = st.text(
    st.sampled_from([*"aZ09 .?\n\t_", *EDGES])
    | st.characters(exclude_categories=["Cs"], exclude_characters="\0")
)


@example("def settle(self, deadlineS: float) -> None:\n\n    x = 0x12ab34")
@example("Да, 清除 🎉 clear3")
@given(MIXED)
def test_the_estimate_is_the_counts_times_the_weights(text: str) -> None:
    counts, fixed = counted(text)
    weights = [feature.weight for feature in FEATURES] + [script.weight for script in SCRIPTS]
    assert len(weights) == len(counts) == len(names())
    weighed = sum(a * b for a, b in zip(counts, weights, strict=True)) + fixed
    assert weigh_text(text, len(text)) == pytest.approx(weighed)


def test_pieces_that_the_estimate_hits_have_no_error() -> None:
    text = "Clear what was said before. " * 40
    hit = Piece("prose", text, estimate_text_tokens(text))
    assert errors_of([hit, hit]).average == 0
