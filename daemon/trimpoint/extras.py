"""Returns the command that installs an optional part of trimpoint, in a form that can be pasted
into a shell.

pip, pipx and uv keep a program's packages in different places, so a plain `pip install` could use
the wrong one. The files that each leaves beside the packages tell which one was used (measured:
pipx 1.17, uv 0.9).
"""

import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from trimpoint_protocol.lenient import as_dict

_NAME = "trimpoint"
# `name[extra]==1`, where the name may be the path of a folder or a wheel.
_REQUIREMENT = re.compile(r"([^\[]*)(?:\[([^\]]*)\])?(.*)", re.DOTALL)
# The folders in which `uvx` makes environments for a single run.
_UVX = re.compile(r"/uv/(archive|environments)-v\d+/")


def install_command(extra: str, prefix: str = sys.prefix) -> str:
    """Returns the command that installs `extra` into this trimpoint's environment, and keeps
    installed extras.

    :param prefix: the environment that trimpoint runs in.
    """
    root = Path(prefix)
    if requirement := _of_pipx(root):
        return f"pipx install --force {_with_extra(requirement, extra)}"
    if requirement := _of_uv(root):
        return f"uv tool install --force {_with_extra(requirement, extra)}"
    source, editable = _source()
    wanted = _with_extra(source, extra)
    if _UVX.search(f"{prefix}/"):
        return f"uvx --from {wanted} trimpoint"
    wanted = f"--editable {wanted}" if editable else wanted
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {wanted}"
    return f"{python} -m pip install {wanted}"


def _of_pipx(root: Path) -> str | None:
    try:
        noted = json.loads((root / "pipx_metadata.json").read_text(encoding="utf-8"))
        return str(noted["main_package"]["package_or_url"] or _NAME)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _of_uv(root: Path) -> str | None:
    try:
        receipt = tomllib.loads((root / "uv-receipt.toml").read_text(encoding="utf-8"))
        wanted: Mapping[str, Any] = receipt["tool"]["requirements"][0]
        extras = ",".join(wanted.get("extras", ()))
    except (OSError, ValueError, KeyError, IndexError, TypeError):
        return None
    places = (wanted.get(key) for key in ("directory", "editable", "path", "url"))
    source = next((str(place) for place in places if place), _NAME)
    return f"{source}[{extras}]" if extras else source


def _source() -> tuple[str, bool]:
    """Returns the source that trimpoint was installed from, a local path or its name, and whether
    it is an editable install.
    """
    try:
        noted = distribution(_NAME).read_text("direct_url.json")
        direct: dict[str, Any] = json.loads(noted or "{}")
    except (PackageNotFoundError, ValueError):
        return _NAME, False
    address = urlsplit(str(direct.get("url") or ""))
    path = unquote(address.path) if address.scheme == "file" else ""
    editable = bool(as_dict(direct.get("dir_info")).get("editable"))
    # A wheel that was built temporarily no longer exists.
    return (path, editable) if path and os.path.exists(path) else (_NAME, False)


def _with_extra(requirement: str, extra: str) -> str:
    found = _REQUIREMENT.fullmatch(requirement)
    assert found is not None, "every text is one"
    source, extras, rest = (part or "" for part in found.groups())
    every = ",".join(dict.fromkeys([*filter(None, extras.split(",")), extra]))
    return f"'{source.strip()}[{every}]{rest}'"
