"""Builds the site of the documents: `scripts/docs`. Pages stand where they stand in the repository,
so that a link is right in both.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES, SITE = ROOT / "build" / "docs" / "pages", ROOT / "build" / "docs" / "site"
BESIDE = (
    "README.md", "CONTEXT.md", "SECURITY.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE",
    "protocol/README.md", "editors/neovim/README.md", "editors/vscode/README.md", "tests/README.md",
)  # fmt: skip
# Attributes with which a page loads something; a link that a reader follows is none.
LOADS = re.compile(
    r"<(?:script|img|iframe|source|video|audio|embed)\b[^>]*?\b(?:src|srcset)=[\"']?"
    r"((?:https?:)?//[^\"'\s>]+)|<link\b[^>]*?\bhref=[\"']?((?:https?:)?//[^\"'\s>]+)",
    re.IGNORECASE,
)


def main() -> int:
    """Builds the site, and returns 1 if a link is broken or a page asks another host."""
    if sys.argv[1:] not in ([], ["--serve"]):
        sys.exit("usage: scripts/docs [--serve]")
    stage()
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run([zensical, "build", "--clean", "--strict"], cwd=ROOT, check=False)
    if built.returncode:
        return 1
    asked = sorted(set(hosts_asked()))
    for line in asked:
        print(line)
    if asked:
        return 1
    print(f"The site is in {SITE.relative_to(ROOT)}; scripts/docs --serve shows it, with search.")
    if sys.argv[1:] == ["--serve"]:
        command = [sys.executable, "-m", "http.server", "-b", "127.0.0.1", "-d", SITE]
        with suppress(KeyboardInterrupt):
            return subprocess.call(command)
    return 0


def stage() -> None:
    """Copies the pages to where the generator reads them."""
    shutil.rmtree(PAGES, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PAGES / "docs", ignore=shutil.ignore_patterns("man"))
    shutil.copy(ROOT / "scripts" / "docs_site.js", PAGES / "site.js")
    for name in BESIDE:
        (PAGES / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, PAGES / name)


def hosts_asked() -> Iterator[str]:
    """Yields a line for each thing that a built page would load from another host."""
    for page in SITE.rglob("*.html"):
        for found in LOADS.finditer(page.read_text(encoding="utf-8")):
            yield f"{page.relative_to(SITE)} loads {found[1] or found[2]}"


if __name__ == "__main__":
    sys.exit(main())
