"""The fit of the token estimate counts the same features as the estimate."""

import pytest
from trimpoint.core.model.tokens import FEATURES, SCRIPTS, estimate_text_tokens

from benchmarks.studies.token_fit import Piece, counted, errors_of, least_squares, names


def test_least_squares_finds_the_weights_that_made_the_targets() -> None:
    rows = [[1.0, 2.0, 0.0], [0.0, 1.0, 4.0], [3.0, 0.0, 1.0], [2.0, 2.0, 2.0]]
    weights = [0.5, -1.5, 2.0]
    targets = [sum(a * b for a, b in zip(row, weights, strict=True)) for row in rows]
    assert least_squares(rows, targets) == pytest.approx(weights)


@pytest.mark.parametrize(
    "text",
    ["def settle(self, deadlineS: float) -> None:\n\n    x = 0x12ab34", "Да, 清除 🎉 clear3"],
)
def test_the_estimate_is_the_counts_times_the_weights(text: str) -> None:
    counts, fixed = counted(text)
    weights = [feature.weight for feature in FEATURES] + [script.weight for script in SCRIPTS]
    assert len(weights) == len(counts) == len(names())
    weighed = sum(a * b for a, b in zip(counts, weights, strict=True)) + fixed
    assert estimate_text_tokens(text) == max(1, round(weighed))


def test_pieces_that_the_estimate_hits_have_no_error() -> None:
    text = "Clear what was said before. " * 40
    hit = Piece("prose", text, estimate_text_tokens(text))
    assert errors_of([hit, hit]).average == 0
