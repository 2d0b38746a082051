"""Makes a release of the last commit, twice, compares the two, checks the files and writes the
notes: `scripts/release`. It never tags, pushes or publishes; it prints what to do.

Packages of the locks are fetched first, unless `--offline` is given; all else asks no network.
"""

import argparse
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import build_web
import release_checks
from hatch_metadata import version

ROOT = Path(__file__).resolve().parents[1]
OFFLINE = {"UV_OFFLINE": "1", "npm_config_offline": "true", "PIP_NO_INDEX": "1"}
# Two copies differ in all that must not matter: the folder, its length, the modes of new files.
COPIES = (("first", 0o022), ("and-the-second-one", 0o077))
# `scripts/generate-docs` with the code of the copy.
GENERATED = ("docs", "web/app/protocol.d.ts", "editors/vscode/package.json")


class Refused(Exception):
    """Raised when no release can be made; the message says why."""


def main() -> int:
    """Makes the release; returns the exit code."""
    parser = argparse.ArgumentParser(prog="scripts/release", description=__doc__)
    parser.add_argument("--offline", action="store_true", help="fetch nothing; all is cached")
    parser.add_argument("--tagged", metavar="TAG", help="refuse if it is not that of this release")
    arguments = parser.parse_args()
    out = ROOT / "build" / "release" / version()
    try:
        notes = notes_of(version())
        refuse_changes()
        if arguments.tagged:
            refuse_unfinished(arguments.tagged)
        with tempfile.TemporaryDirectory(prefix="trimpoint-release-") as place:
            if not arguments.offline:
                step("fetch what the locks name")
                fetch(Path(place) / "fetched")
            os.environ.update(OFFLINE, SOURCE_DATE_EPOCH=git("log", "-1", "--format=%ct"))
            build(Path(place), out)
        check(out)
    except (Refused, build_web.NotBuilt) as error:
        print(f"No release: {error}", file=sys.stderr)
        return 1
    except subprocess.CalledProcessError as error:
        print(f"No release: `{' '.join(map(str, error.cmd))}` failed.", file=sys.stderr)
        return 1
    (out.parent / f"notes-{version()}.md").write_text(notes, encoding="utf-8")
    print("\n".join(said(out)))
    return 0


def refuse_changes() -> None:
    """Raises Refused if there is something that no commit has."""
    if changed := git("status", "--porcelain"):
        raise Refused(f"Commit first; a release is made of the last commit:\n{changed}")


def refuse_unfinished(tag: str) -> None:
    """Raises Refused if a tag is not that of the version, or the version has no date yet."""
    if tag != f"v{version()}":
        raise Refused(f"The tag {tag} is not v{version()}, which the code says.")
    if is_unreleased():
        raise Refused(f"CHANGELOG.md says that {version()} is unreleased: put the date there.")


def notes_of(version: str) -> str:
    """Returns the notes of a version.

    :raises Refused: when the changelog has none.
    """
    found = release_checks.notes(changelog(), version)
    if found is None:
        raise Refused(f"CHANGELOG.md has nothing under “## {version}”.")
    return found


def fetch(folder: Path) -> None:
    """Brings into the caches of uv and npm what the builds and the installation need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [
        *(*project["build-system"]["requires"], *project["project"]["dependencies"]),
        *project["project"]["optional-dependencies"]["codex"],
    ]
    uv = ("pip", "install", "--quiet", "--python", sys.executable, "--target", folder / "python")
    constraints = ROOT / "constraints-dev.txt"
    run(Path(sys.executable).with_name("uv"), *uv, "--constraint", constraints, *wanted)
    node = build_web.node_folder()
    for source in (build_web.WEB, build_web.EXTENSION):
        target = folder / source.name
        target.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, target / name)
        build_web.install_packages(target, node)


def build(place: Path, out: Path) -> None:
    """Makes the files in two copies of the last commit, and keeps them if they are the same.

    :raises Refused: when they are not, or generated files are not those of the code.
    """
    made = []
    for name, mask in COPIES:
        step(f"build: {name}")
        files, tree = place / f"{name}.files", place / name / "trimpoint"
        previous = os.umask(mask)
        try:
            files.mkdir()
            run("git", "clone", "--quiet", "--no-hardlinks", ROOT, tree)
            run(sys.executable, tree / "scripts" / "release_files.py", files, cwd=tree)
        finally:
            os.umask(previous)
        made.append(files)
    step("compare")
    search = os.pathsep.join(map(str, (tree / "daemon", tree / "protocol")))
    reference = "trimpoint.cli.daemon_commands.reference"
    run(sys.executable, "-m", reference, *GENERATED, cwd=tree, PYTHONPATH=search)
    if stale := git("status", "--porcelain", cwd=tree):
        raise Refused(f"Run scripts/generate-docs; these are not as the code says:\n{stale}")
    if differing := list(differences(*made)):
        raise Refused(f"Two builds differ in {', '.join(differing)}.")
    shutil.rmtree(out, ignore_errors=True)
    out.parent.mkdir(parents=True, exist_ok=True)
    shutil.copytree(made[0], out)


def differences(first: Path, second: Path) -> Iterator[str]:
    """Yields the names of the files that differ or are in one of the folders only."""
    names = {path.name for folder in (first, second) for path in folder.iterdir()}
    _, mismatched, missing = filecmp.cmpfiles(first, second, sorted(names), shallow=False)
    yield from sorted((*mismatched, *missing))


def check(out: Path) -> None:
    """Looks into the files, installs them in fresh environments and runs the demo.

    :raises Refused: when something is wrong.
    """
    step("check")
    tracked = set(git("ls-files", "-z").split("\0"))
    if found := list(release_checks.problems(out, version(), tracked)):
        raise Refused("\n".join(found))
    run(ROOT / "scripts" / "test-wheel", out)


def said(out: Path) -> Iterator[str]:
    """Yields the lines that say what was made and what is to be done."""
    yield f"\ntrimpoint {version()}, made twice with the same bytes, in {out.relative_to(ROOT)}:"
    width = max(len(path.name) for path in out.iterdir())
    for path in sorted(out.iterdir()):
        yield f"  {path.name:<{width}}  {path.stat().st_size:>9,} bytes"
    yield f"The notes are in {out.parent.relative_to(ROOT)}/notes-{version()}.md."
    yield "\nTo do, by you:"
    if empty := list(missing()):
        yield f"  - fill in what is known in scripts/publishing.toml; empty are {', '.join(empty)}"
    if is_unreleased():
        yield f"  - in CHANGELOG.md, put the date in the place of “unreleased” of {version()}"
    yield f"  - git tag -s v{version()} && git push origin v{version()}"
    yield "    The workflow .github/workflows/release.yml makes the same files and publishes them."


def missing() -> Iterator[str]:
    """Yields the entries of the publishing file that are empty."""
    known = tomllib.loads((ROOT / "scripts" / "publishing.toml").read_text(encoding="utf-8"))
    for table, entries in known.items():
        yield from (f"{table}.{name}" for name, value in entries.items() if not value)


def is_unreleased() -> bool:
    """Returns whether the changelog has no date for this version yet."""
    title = rf"^## {re.escape(version())} \(unreleased\)$"
    return re.search(title, changelog(), re.MULTILINE) is not None


def changelog() -> str:
    """Returns the text of the changelog."""
    return (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def git(*words: str, cwd: Path = ROOT) -> str:
    """Returns what git prints."""
    command = ["git", *words]
    return subprocess.run(
        command, cwd=cwd, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def run(*words: str | Path, cwd: Path = ROOT, **environment: str) -> None:
    """Runs a command; what it prints is shown.

    :raises subprocess.CalledProcessError: when it failed.
    """
    command = [str(word) for word in words]
    subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, check=True)


def step(name: str) -> None:
    """Says what is done next."""
    print(f"── {name}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
