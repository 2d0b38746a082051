"""The command that installs an optional part, for each program that installs trimpoint."""

import json
import sys
from pathlib import Path

import pytest
from trimpoint.extras import install_command


@pytest.mark.parametrize(
    ("installed", "command"),
    [
        ("trimpoint", "pipx install --force 'trimpoint[tui]'"),
        ("/src/trimpoint[codex]", "pipx install --force '/src/trimpoint[codex,tui]'"),
        ("trimpoint[tui]==0.1", "pipx install --force 'trimpoint[tui]==0.1'"),
        (None, "pipx install --force 'trimpoint[tui]'"),
    ],
)
def test_pipx_installs_the_same_with_one_extra_more(
    tmp_path: Path, installed: str | None, command: str
) -> None:
    noted = {"main_package": {"package": "trimpoint", "package_or_url": installed}}
    (tmp_path / "pipx_metadata.json").write_text(json.dumps(noted))
    assert install_command("tui", str(tmp_path)) == command


@pytest.mark.parametrize(
    ("requirement", "wanted"),
    [
        ('{ name = "trimpoint", directory = "/src/trimpoint" }', "/src/trimpoint[tui]"),
        ('{ name = "trimpoint", extras = ["codex"] }', "trimpoint[codex,tui]"),
        ('{ name = "trimpoint", path = "/x/trimpoint.whl" }', "/x/trimpoint.whl[tui]"),
    ],
)
def test_uv_installs_the_same_tool_with_one_extra_more(
    tmp_path: Path, requirement: str, wanted: str
) -> None:
    (tmp_path / "uv-receipt.toml").write_text(f"[tool]\nrequirements = [{requirement}]\n")
    assert install_command("tui", str(tmp_path)) == f"uv tool install --force '{wanted}'"


def test_a_run_of_uvx_is_repeated_with_the_extra() -> None:
    command = install_command("tui", "/home/me/.cache/uv/archive-v0/abc")
    assert command.startswith("uvx --from '")
    assert command.endswith("[tui]' trimpoint")


@pytest.mark.parametrize("damaged", ["", "{", '{"main_package": null}'])
def test_in_another_environment_the_running_python_is_named(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "pipx_metadata.json").write_text(damaged)
    (tmp_path / "uv-receipt.toml").write_text(damaged)
    command = install_command("tui", str(tmp_path))
    assert sys.executable in command
    assert command.endswith("[tui]'")
