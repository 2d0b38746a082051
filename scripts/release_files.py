"""Makes the files of a release of the tree in which this lies: `release_files.py FOLDER`.

`scripts/release` runs it, in two copies of the repository. The time in the files is that of
SOURCE_DATE_EPOCH; nothing is asked of a network.
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pack_neovim
import pack_vscode
import sbom
from hatch_metadata import version

ROOT = Path(__file__).resolve().parents[1]
COMPLETIONS = {"bash": "trimpoint.bash", "zsh": "_trimpoint", "fish": "trimpoint.fish"}
SUMS = "SHA256SUMS"


def make(folder: Path) -> None:
    """Makes all files in an empty folder."""
    name = f"trimpoint-{version()}"
    pack_vscode.build()  # and the page, which the wheel has too
    # The wheel is made from the source archive, so that what is missing there is found.
    _uv_build(folder, ROOT)
    _uv_build(folder, ROOT / "protocol", "--wheel")
    (folder / f"{name}.nvim.tar.gz").write_bytes(pack_neovim.packed())
    (folder / f"{name}.vsix").write_bytes(pack_vscode.packed())
    (folder / "trimpoint.1").write_bytes((ROOT / "docs" / "man" / "trimpoint.1").read_bytes())
    for shell, target in COMPLETIONS.items():
        (folder / target).write_bytes(_trimpoint("completion", shell))
    made_at = int(os.environ["SOURCE_DATE_EPOCH"])
    (folder / f"{name}.cdx.json").write_text(sbom.document(version(), made_at), encoding="utf-8")
    (folder / SUMS).write_text(sums(folder), encoding="ascii")


def sums(folder: Path) -> str:
    """Returns the check sums of all files, in the form that sha256sum checks."""
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
        for path in sorted(folder.iterdir())
        if path.name != SUMS
    )


def _uv_build(folder: Path, project: Path, *words: str) -> None:
    command = [
        *(str(Path(sys.executable).with_name("uv")), "build", "--quiet", "--no-create-gitignore"),
        *("--offline", "--python", sys.executable, "--out-dir", str(folder)),
        *("--build-constraint", str(ROOT / "constraints-dev.txt"), *words, str(project)),
    ]
    subprocess.run(command, env={**os.environ, "TRIMPOINT_REQUIRE_WEB": "1"}, check=True)


def _trimpoint(*words: str) -> bytes:
    search = os.pathsep.join((str(ROOT / "daemon"), str(ROOT / "protocol")))
    command = [sys.executable, "-m", "trimpoint", *words]
    environment = {**os.environ, "PYTHONPATH": search}
    return subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    make(Path(sys.argv[1]))
