"""JSON of an unexpected shape reads as empty, and never raises."""

from typing import Any

import pytest
from trimpoint_protocol.lenient import as_dict, as_dicts, as_list


@pytest.mark.parametrize("value", [None, 3, "text", [1], True])
def test_as_dict_of_anything_but_an_object_is_empty(value: Any) -> None:
    assert as_dict(value) == {}


@pytest.mark.parametrize("value", [None, 3, "text", {"a": 1}])
def test_as_list_of_anything_but_an_array_is_empty(value: Any) -> None:
    assert as_list(value) == []


@pytest.mark.parametrize("value", [None, {"a": 1}, "text", [1, "a", None, [{"a": 1}]]])
def test_as_dicts_of_what_has_no_objects_is_empty(value: Any) -> None:
    assert as_dicts(value) == []


def test_the_objects_of_an_array_are_kept_in_order() -> None:
    assert as_dicts([{"a": 1}, 2, {}, "b", {"c": 3}]) == [{"a": 1}, {}, {"c": 3}]


def test_objects_and_arrays_are_themselves() -> None:
    assert as_dict({"a": 1}) == {"a": 1}
    assert as_list([1, 2]) == [1, 2]
