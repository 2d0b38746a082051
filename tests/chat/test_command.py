"""The output of `trimpoint chat` before it draws the screen."""

import argparse

import pytest
from trimpoint.cli.exits import CliError
from trimpoint.tui import command


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "find_spec", lambda _: None)
    with pytest.raises(CliError) as raised:
        command.run(argparse.Namespace())
    assert "[tui]" in raised.value.hint
