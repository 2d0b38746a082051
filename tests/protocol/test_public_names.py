"""`__all__` of each module of the library lists its public names, and nothing else."""

import pkgutil
from importlib import import_module
from types import FunctionType, ModuleType
from typing import Any

import pytest
import trimpoint_protocol

MODULES = [
    module.name
    for module in pkgutil.walk_packages(trimpoint_protocol.__path__, "trimpoint_protocol.")
    # The parts of the client have no names for others, and the shapes are in their modules.
    if not module.name.startswith("trimpoint_protocol.client.")
    and module.name != "trimpoint_protocol.shapes"
]


@pytest.mark.parametrize("name", MODULES)
def test_a_star_import_gives_the_names_that_are_listed(name: str) -> None:
    found: dict[str, Any] = {}
    exec(f"from {name} import *", found)
    found.pop("__builtins__")
    assert sorted(found) == sorted(import_module(name).__all__)


@pytest.mark.parametrize("name", MODULES)
def test_each_public_class_and_function_of_a_module_is_listed(name: str) -> None:
    module = import_module(name)
    assert {each for each in vars(module) if _is_public(module, each)} <= set(module.__all__)


def _is_public(module: ModuleType, name: str) -> bool:
    value = vars(module)[name]
    is_definition = isinstance(value, type | FunctionType)
    return is_definition and not name.startswith("_") and value.__module__ == module.__name__
