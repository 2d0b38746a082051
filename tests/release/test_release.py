"""A release: two builds with the same bytes, what is in them, and what is refused."""

import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from trimpoint import __version__

from tests.deadlines import SCENARIO_S

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))
# A release is built by the tools of development, with the versions that they are locked to.
yaml = pytest.importorskip("yaml")

import hatch_metadata  # noqa: E402
import release  # noqa: E402
import release_checks  # noqa: E402
import release_files  # noqa: E402
import sbom  # noqa: E402

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CHANGELOG = """# Changelog

## 0.2.0 (unreleased)

- new

## 0.1.0 (2026-12-01)

- old
"""


def test_the_notes_are_the_section_of_the_version() -> None:
    assert release_checks.notes(CHANGELOG, "0.2.0") == "- new\n"
    assert release_checks.notes(CHANGELOG, "0.1.0") == "- old\n"
    assert release_checks.notes(CHANGELOG, "0.1") is None


def test_this_version_has_notes_and_one_number_everywhere() -> None:
    assert release.notes_of(__version__)
    assert hatch_metadata.version() == __version__
    extension = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text())
    assert extension["version"] == __version__
    assert (ROOT / "protocol" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_no_address_is_invented() -> None:
    for page in (ROOT / "pyproject.toml", ROOT / "protocol" / "pyproject.toml"):
        assert "://" not in page.read_text()
    assert set(release.missing()) <= {
        *(f"urls.{name}" for name in ("Homepage", "Documentation", "Source", "Changelog")),
        *("urls.Issues", "urls.Security", "readme.links", "readme.images"),
        *("accounts.package_index", "accounts.vscode_marketplace"),
    }


def test_links_of_the_readme_lead_to_the_repository_where_its_address_is_known() -> None:
    text = '[a](docs/a.md#b) [c](../d) [e](https://e) [f](#f) ![g](img/g.svg) <img src="h.png">'
    assert hatch_metadata.linked(text, "x", "1.2", links="", images="") == text
    linked = hatch_metadata.linked(text, "x", "1.2", links="L/v{version}/", images="I/")
    assert linked == (
        "[a](L/v1.2/x/docs/a.md#b) [c](L/v1.2/d) [e](https://e) [f](#f) "
        '![g](I/x/img/g.svg) <img src="I/x/h.png">'
    )


def test_a_bill_of_materials_has_every_dependency_and_every_bundled_package() -> None:
    bill = json.loads(sbom.document("1.2", 0))
    assert sbom.document("1.2", 0) == json.dumps(bill, indent=1) + "\n"
    refs = {part["bom-ref"] for part in bill["components"]}
    names = {part["name"] for part in bill["components"]}
    assert {"anyio", "msgspec", "nats-py", "openai-codex-cli-bin", "preact", "marked"} <= names
    assert not {"pytest", "esbuild", "preact-render-to-string"} & names
    for row in bill["dependencies"]:
        assert set(row["dependsOn"]) <= refs
    assert all(part["version"] for part in bill["components"])


def test_what_is_wrong_with_the_files_is_named(tmp_path: Path) -> None:
    (tmp_path / "stray.txt").write_text("")
    found = list(release_checks.problems(tmp_path, "1.2", set()))
    assert "stray.txt does not belong to a release" in found
    assert "trimpoint-1.2.vsix is missing" in found


def test_a_source_archive_has_only_what_git_knows_and_valid_metadata(tmp_path: Path) -> None:
    path = tmp_path / "trimpoint-1.2.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name in ("PKG-INFO", "README.md", "secrets.env"):
            content = b"Metadata-Version: 2.4\nName: trimpoint\nVersion: 1.3\n"
            member = tarfile.TarInfo(f"trimpoint-1.2/{name}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    found = list(release_checks._source_archive(path, "1.2", {"README.md"}))
    assert f"{path.name} has secrets.env, which git does not know" in found
    assert f"{path.name} says that it is version 1.3" in found
    assert f"{path.name} has no licence" in found


def test_paths_of_the_machine_are_found() -> None:
    assert list(release_checks._paths("a", b"x /home/somebody/src y")) == [
        "a names /home/somebody/src"
    ]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_pin_their_actions_and_call_scripts_that_are_there(path: Path) -> None:
    text = path.read_text()
    steps = [step for job in yaml.safe_load(text)["jobs"].values() for step in job["steps"]]
    for step in steps:
        if "uses" in step:
            assert re.search(r"@[0-9a-f]{40}$", step["uses"]), step
            assert re.search(rf"{re.escape(step['uses'])} # v\d+\.\d+\.\d+\n", text), step
    for name in re.findall(r"(?<![\w./])scripts/[\w-]+(?:\.\w+)?", text):
        assert (ROOT / name).exists(), name
    assert {"scripts/check", "scripts/test"} <= {step.get("run") for step in steps}


def test_workflows_give_rights_to_single_jobs_only() -> None:
    for path in WORKFLOWS:
        content = yaml.safe_load(path.read_text())
        assert content["permissions"] == {"contents": "read"}
        for job in content["jobs"].values():
            codes = [step for step in job["steps"] if "checkout" in step.get("uses", "")]
            assert not (codes and job.get("permissions")), "rights beside the repository's code"


@pytest.mark.processes
@pytest.mark.thorough("builds everything twice, which takes a minute")
@pytest.mark.timeout(20 * SCENARIO_S)
def test_a_release_of_a_clone_is_made_twice_the_same_and_changes_nothing(tmp_path: Path) -> None:
    clone = copy_of_the_repository(tmp_path / "clone")
    head = git(clone, "rev-parse", "HEAD")
    made = subprocess.run(
        [sys.executable, "scripts/release.py"],
        cwd=clone,
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    assert "made twice with the same bytes" in made.stdout
    assert "git tag -s" in made.stdout
    out = clone / "build" / "release" / __version__
    assert {path.name for path in out.iterdir()} == set(release_checks.names(__version__))
    assert (out / release_files.SUMS).read_text() == release_files.sums(out)
    assert git(clone, "status", "--porcelain") == ""
    assert git(clone, "tag") == ""
    assert git(clone, "rev-parse", "HEAD") == head


@pytest.mark.processes
def test_a_release_of_what_is_not_committed_or_wrongly_tagged_is_refused(tmp_path: Path) -> None:
    clone = copy_of_the_repository(tmp_path / "clone")
    command = [sys.executable, "scripts/release.py", "--offline"]
    wrong = subprocess.run(
        [*command, "--tagged", "v9"], cwd=clone, capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1
    assert "The tag v9 is not" in wrong.stderr
    (clone / "new").touch()
    changed = subprocess.run(command, cwd=clone, capture_output=True, text=True, check=False)
    assert changed.returncode == 1
    assert "Commit first" in changed.stderr


def copy_of_the_repository(folder: Path) -> Path:
    """Returns a repository with one commit: the files of this one as they are now."""
    for name in git(ROOT, "ls-files", "-co", "--exclude-standard", "-z").split("\0"):
        source, target = ROOT / name, folder / name
        if name and source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    (folder / ".venv").symlink_to(Path(sys.executable).parents[1])
    git(folder, "init", "--quiet")
    (folder / ".git" / "info" / "exclude").write_text(".venv\n")
    git(folder, "add", "--all")
    author = ("-c", "user.name=t", "-c", "user.email=t@t.invalid")
    git(folder, *author, "commit", "--quiet", "--message", "all")
    return folder


def git(folder: Path, *words: str) -> str:
    """Returns what git prints."""
    command = ["git", "-C", str(folder), *words]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
