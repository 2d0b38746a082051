"""The extension as it is packed, and what its manifest declares."""

import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from trimpoint.cli.daemon_commands.reference import editor_manifest

from tests.deadlines import SCENARIO_S
from tests.tools import missing
from tests.vscode.code_server import ROOT, packed

EXTENSION = ROOT / "editors" / "vscode"
MANIFEST = (EXTENSION / "package.json").read_text(encoding="utf-8")
MOST_BYTES = 500_000
# Started by views and tabs alone; commands start it by themselves.
STARTED_BY = ["onWebviewPanel:trimpoint.tab"]

IN_NODE = """
import build_web as web
node = web.node_folder()
web.install_packages(web.EXTENSION, node)
web.run(web.EXTENSION, node, "npm", "test", shown=True)
"""


def test_the_palette_has_the_commands_of_the_registry() -> None:
    assert editor_manifest(MANIFEST) == MANIFEST, "run scripts/generate-docs"


def test_every_command_that_is_named_is_declared() -> None:
    declared = {one["command"] for one in json.loads(MANIFEST)["contributes"]["commands"]}
    media = "".join(path.read_text() for path in (EXTENSION / "media").glob("*.md"))
    named = set(re.findall(r"command:(trimpoint\.[\w.]+)", MANIFEST + media))
    named |= set(re.findall(r'"command": "(trimpoint\.[\w.]+)", "when"', MANIFEST))
    assert named
    assert named <= declared


def test_nothing_starts_before_it_is_used_or_in_a_folder_that_is_not_trusted() -> None:
    manifest = json.loads(MANIFEST)
    assert manifest["activationEvents"] == STARTED_BY
    assert manifest["extensionKind"] == ["workspace"]
    assert manifest["capabilities"]["untrustedWorkspaces"]["supported"] is False
    assert not manifest.get("dependencies")
    assert "keybindings" not in manifest["contributes"]


@pytest.mark.processes
def test_packing_twice_makes_the_same_bytes_with_what_belongs_in_it(tmp_path: Path) -> None:
    first = packed(tmp_path).read_bytes()
    assert packed(tmp_path).read_bytes() == first
    assert len(first) < MOST_BYTES
    with zipfile.ZipFile(tmp_path / "trimpoint.vsix") as archive:
        names = set(archive.namelist())
        manifest = json.loads(archive.read("extension/package.json"))
        readme = archive.read("extension/README.md").decode()
        assert {one.date_time for one in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert {"extension.vsixmanifest", "[Content_Types].xml", "extension/LICENSE.txt"} <= names
    assert f"extension/{manifest['main'].removeprefix('./')}" in names
    assert {f"extension/built/page/{name}" for name in ("main.js", "app.css")} <= names
    assert not [name for name in names if "node_modules" in name or name.endswith((".ts", ".map"))]
    assert {f"extension/{path}" for path in re.findall(r"\]\((media/[^)]+)\)", readme)} <= names


@pytest.mark.processes
def test_the_bridge_and_the_pickers_pass_their_tests() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_NODE],
        cwd=ROOT / "scripts",
        capture_output=True,
        text=True,
        timeout=SCENARIO_S,
        check=False,
    )
    if "there is none" in done.stderr:
        missing("Node.js")
    assert done.returncode == 0, done.stdout + done.stderr
