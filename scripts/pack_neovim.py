"""Packs the Neovim plugin: `scripts/pack-neovim [FILE]`. The same files make the same bytes.

The archive has one folder, `trimpoint`, as Neovim's built-in packages want it.
"""

import gzip
import io
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PLUGIN = ROOT / "editors" / "neovim"
PARTS = ("README.md", "doc", "ftplugin", "lua", "plugin")
SUFFIXES = frozenset({".lua", ".md", ".txt"})


def files() -> list[Path]:
    """Returns the plugin's files, in order; what an editor or `:helptags` left there is not its."""
    found = [path for part in PARTS for path in [PLUGIN / part, *(PLUGIN / part).rglob("*")]]
    return sorted(path for path in found if path.is_file() and path.suffix in SUFFIXES)


def packed() -> bytes:
    """Returns the archive: no times, owners or modes of this machine in it."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for path in [*files(), ROOT / "LICENSE"]:
            name = path.name if path.parent == ROOT else str(path.relative_to(PLUGIN))
            content = path.read_bytes()
            member = tarfile.TarInfo(f"trimpoint/{name}")
            member.size, member.mode = len(content), 0o644
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), compresslevel=9, mtime=0)


def main() -> None:
    """Writes it to the file that is named, else to `trimpoint.nvim.tar.gz` in this folder."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "trimpoint.nvim.tar.gz")
    target.write_bytes(packed())
    print(target)


if __name__ == "__main__":
    main()
