"""Shell commands as the agent typed them."""

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trimpoint.core.model.shell_commands import as_typed, in_one_line, unwrapped


@pytest.mark.parametrize(
    ("command", "typed"),
    [
        ("/bin/bash -lc 'echo hi'", "echo hi"),
        ("/bin/bash -lc ls", "ls"),
        ("/usr/bin/zsh -lc \"a 'b'\"", "a 'b'"),
        ("bash -c 'sed -i '\"'\"'1a\\    x'\"'\"' f'", "sed -i '1a\\    x' f"),
        ("sh -c 'a   b'", "a   b"),
        ("/bin/bash -lc 'cut off", "/bin/bash -lc 'cut off"),
        ("bash script.sh", "bash script.sh"),
        ("shred -u x", "shred -u x"),
        ("shred -c x", "shred -c x"),
        ("cat /bin/bash -lc", "cat /bin/bash -lc"),
        ("", ""),
    ],
)
def test_a_command_is_shown_as_the_agent_typed_it(command: str, typed: str) -> None:
    assert unwrapped(command) == typed
    assert as_typed({"command": command}) == typed


@given(st.text())
def test_a_quoted_shell_command_is_unwrapped_unchanged(script: str) -> None:
    assert unwrapped(shlex.join(["/bin/bash", "-lc", script])) == script


def test_without_a_shell_around_it_codexs_own_reading_counts() -> None:
    actions = [{"type": "read", "command": "cat x"}]
    assert (
        as_typed({"command": "powershell -Command 'cat x'", "commandActions": actions}) == "cat x"
    )
    assert as_typed({"command": "a && b", "commandActions": actions * 2}) == "a && b"
    assert as_typed({"command": "a", "commandActions": [{}]}) == "a"
    assert as_typed({}) == ""


def test_a_very_long_call_is_left_as_it_is() -> None:
    command = f"bash -lc '{'x' * 20_000}'"
    assert unwrapped(command) == command


def test_several_lines_are_joined_by_a_sign() -> None:
    assert in_one_line("cat <<E \n  a   b\nE\n") == "cat <<E ⏎   a   b ⏎ E"
