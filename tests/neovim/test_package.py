"""The shipped plugin: the archive, its help, and which modules each module may use."""

import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import trimpoint

from tests.deadlines import STEP_S
from tests.neovim.editor import PLUGIN, ROOT, neovim

LUA = PLUGIN / "lua" / "trimpoint"
HELP = (PLUGIN / "doc" / "trimpoint.txt").read_text()
# What each folder may require of the others.
MAY_REQUIRE = {
    "rpc": {"rpc"},
    "model": {"model"},
    "client": {"client", "rpc", "model", "config", "task"},
    "completion": {"completion", "client", "model", "task"},
    "ui": {"ui", "client", "completion", "model", "config", "task"},
}
IMPURE = re.compile(r"vim\.(uv|api|cmd|ui|notify|schedule|system|wait|o|bo|wo|go)\b")


def modules(folder: str) -> list[Path]:
    """Returns the modules of a folder."""
    return sorted((LUA / folder).glob("*.lua"))


@pytest.mark.parametrize("folder", MAY_REQUIRE)
def test_each_layer_requires_only_what_is_below_it(folder: str) -> None:
    for module in modules(folder):
        required = re.findall(r'require\(?["\']trimpoint\.(\w+)', module.read_text())
        assert set(required) <= MAY_REQUIRE[folder], module.name


@pytest.mark.parametrize("folder", ["rpc", "model"])
def test_the_protocol_and_the_model_touch_neither_editor_nor_system(folder: str) -> None:
    for module in modules(folder):
        assert IMPURE.search(module.read_text()) is None, module.name


@pytest.mark.processes
def test_packing_twice_makes_the_same_bytes_and_only_the_plugin(tmp_path: Path) -> None:
    archives = [tmp_path / "one.tar.gz", tmp_path / "two.tar.gz"]
    for archive in archives:
        script = ROOT / "scripts" / "pack_neovim.py"
        subprocess.run([sys.executable, script, archive], check=True, capture_output=True)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    with tarfile.open(archives[0]) as archive:
        names = archive.getnames()
        assert {(one.mtime, one.uid, one.uname) for one in archive} == {(0, 0, "")}
    shipped = {f"trimpoint/{path.relative_to(PLUGIN)}" for path in PLUGIN.rglob("*.lua")}
    assert shipped <= set(names)
    assert {"trimpoint/LICENSE", "trimpoint/README.md", "trimpoint/doc/trimpoint.txt"} <= set(names)
    assert not [name for name in names if name.endswith("tags") or "/." in name]


@pytest.mark.processes
def test_the_help_has_no_tag_twice_and_every_link_leads_somewhere(tmp_path: Path) -> None:
    folder = tmp_path / "doc"
    folder.mkdir()
    (folder / "trimpoint.txt").write_text(HELP)
    command = [neovim(), "--clean", "-es", "-u", "NONE", "-c", f"helptags {folder}", "-c", "q"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=STEP_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    tags = {line.split("\t")[0] for line in (folder / "tags").read_text().splitlines()}
    links = {link for link in re.findall(r"\|([^|\s]+)\|", HELP) if not link.startswith("vim.")}
    assert links <= tags
    assert all(len(line) <= 80 for line in HELP.splitlines())


def test_the_help_names_every_subcommand_setting_key_and_colour() -> None:
    command = (LUA / "ui" / "command.lua").read_text()
    own = re.findall(r"^  (\w+) = run_\w+,$", command, re.MULTILINE)
    assert own
    for name in own:
        assert re.search(rf"^:\S*Trimpoint\S* \[?{name}\b", HELP, re.MULTILINE), name
    defaults = (LUA / "config.lua").read_text().partition("M.defaults = {")[2].partition("}")[0]
    for name in re.findall(r"^  (\w+) =", defaults, re.MULTILINE):
        assert f"    {name} = " in HELP, name
    for name in re.findall(
        r"^  (Trimpoint\w+) =", (LUA / "ui" / "highlights.lua").read_text(), re.M
    ):
        assert f"*hl-{name}*" in HELP, name
    for name in re.findall(r'map\("([^"]+)"', (LUA / "ui" / "keys.lua").read_text()):
        assert name in HELP, name


def test_the_plugin_has_the_version_of_the_program() -> None:
    session = (PLUGIN / "lua" / "trimpoint" / "client" / "session.lua").read_text()
    assert f'M.VERSION = "{trimpoint.__version__}"' in session
