"""What is said of the trust of a folder."""

from typing import Literal

import pytest
from trimpoint.core.commands.parsing import parse
from trimpoint.core.commands.trust import Trust, newly_trusted, trust_said
from trimpoint.core.model.folder_trust import FolderTrust


@pytest.mark.parametrize(
    ("level", "answer", "said", "hints"),
    [
        (None, None, "threads that begin here are read-only.", ["/trust yes"]),
        ("untrusted", None, "/config.toml calls it untrusted.", ["/trust yes", "/trust no"]),
        ("trusted", None, "threads that begin here can write in it.", ["/trust no"]),
        (None, "yes", "from now on", []),
        (None, "no", "no longer names /work", []),
    ],
)
def test_the_trust_of_a_folder_is_shown_with_the_commands_that_change_it(
    level: str | None, answer: Literal["yes", "no"] | None, said: str, hints: list[str]
) -> None:
    found = trust_said(FolderTrust("/work", level, "/config.toml"), answer)
    assert said in found.text
    assert [hint.command for hint in found.hints] == hints


@pytest.mark.parametrize(
    ("typed", "wanted"), [("/trust", None), ("/trust YES", "yes"), ("/trust no", "no")]
)
def test_a_trust_says_what_is_to_become_of_it(typed: str, wanted: str | None) -> None:
    command = parse(typed)
    assert isinstance(command, Trust)
    assert command.wanted == wanted


def test_a_warning_of_new_trust_names_the_folder_and_the_way_back() -> None:
    said = newly_trusted("/work")
    assert said.startswith("Codex trusts /work from now on")
    assert said.endswith("/trust no (in a shell: trimpoint trust no) takes it out.")
