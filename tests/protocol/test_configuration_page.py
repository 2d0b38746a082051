"""docs/configuration.md against the code: whoever adds a key says what it is."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin

import msgspec
import pytest
from trimpoint.config.loading import ENVIRONMENT
from trimpoint.config.sections import FIXED, Config

PAGE = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()


def documented() -> dict[str, str]:
    """Key -> its row on the page."""
    rows: dict[str, str] = {}
    section = ""
    for line in PAGE.splitlines():
        if line.startswith("## "):
            named = re.match(r"## `\[(\w+)", line)
            section = named[1] + "." if named else ""
        elif found := re.match(r"\| `([a-z_]+)` \| (.*)", line):
            rows[section + found[1]] = found[2]
    return rows


def keys(shape: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every key there is, and its default."""
    for field in msgspec.structs.fields(shape):
        inner = get_args(field.type)[1] if get_origin(field.type) is dict else field.type
        if isinstance(inner, type) and issubclass(inner, msgspec.Struct):
            yield from keys(inner, f"{field.name}.")
        else:
            made = field.default_factory
            default = field.default if made is msgspec.NODEFAULT else made()
            yield path + field.name, default


@pytest.mark.parametrize(
    ("key", "default"), [(key, default) for key, default in keys(Config) if key not in FIXED]
)
def test_the_page_about_it_names_every_key_with_its_default(key: str, default: Any) -> None:
    row = documented()[key]
    if default is not None:
        shown = msgspec.json.encode(default).decode()
        assert row.startswith(f"`{shown}`"), (key, shown, row)


def test_the_page_names_no_key_that_is_not_there() -> None:
    assert set(documented()) == {key for key, _ in keys(Config)} - FIXED


def test_what_is_fixed_is_a_key_and_stands_on_the_page() -> None:
    assert {key for key, _ in keys(Config)} > FIXED
    assert [key for key in sorted(FIXED) if f"`{key}`" not in PAGE] == []


@pytest.mark.parametrize("variable", ENVIRONMENT)
def test_the_page_names_every_variable_at_the_key_it_sets(variable: str) -> None:
    assert f"`{variable}`" in documented()[".".join(ENVIRONMENT[variable])]
