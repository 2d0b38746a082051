"""Codex's reports of names that it was given are told from other reports in any order."""

from itertools import permutations

import pytest
from trimpoint.operations.routing.name_reports import NameReports


@pytest.mark.parametrize("reported", list(permutations("ABC")))
def test_names_that_were_given_at_once_are_known_in_whatever_order(
    reported: tuple[str, ...],
) -> None:
    reports = NameReports()
    for name in "ABC":
        reports.expect("thread", name)
    assert all(reports.is_own("thread", name) for name in reported)
    assert not any(reports.is_own("thread", name) for name in reported)
