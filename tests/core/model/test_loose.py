"""JSON of an unexpected shape reads as empty, and never raises."""

from typing import Any

import pytest
from trimpoint_protocol.lenient import as_dict, as_list


@pytest.mark.parametrize("value", [None, 3, "text", [1], True])
def test_as_dict_of_anything_but_an_object_is_empty(value: Any) -> None:
    assert as_dict(value) == {}


@pytest.mark.parametrize("value", [None, 3, "text", {"a": 1}])
def test_as_list_of_anything_but_an_array_is_empty(value: Any) -> None:
    assert as_list(value) == []


def test_objects_and_arrays_are_themselves() -> None:
    assert as_dict({"a": 1}) == {"a": 1}
    assert as_list([1, 2]) == [1, 2]
