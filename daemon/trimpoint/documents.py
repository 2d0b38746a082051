"""Finds the pages of the documents: in the installed package, or beside the daemon in a clone."""

import re
from pathlib import Path

INDEX = "README"
_NAME = re.compile(r"[A-Za-z][A-Za-z-]*")


def folder() -> Path:
    """Returns the folder of the pages."""
    packaged = Path(__file__).parent / "pages"
    return packaged if packaged.is_dir() else Path(__file__).parents[2] / "docs"


def file_of(name: str) -> Path | None:
    """Returns the file of the page `name`, as links write it or without `docs/` and `.md`; None if
    there is none.
    """
    name = name.removeprefix("docs/").removesuffix(".md")
    path = folder() / f"{name}.md"
    return path if _NAME.fullmatch(name) and path.is_file() else None


def text_of(name: str) -> str | None:
    """Returns the Markdown of the page `name`; None if there is none."""
    path = file_of(name)
    return None if path is None else path.read_text(encoding="utf-8")
