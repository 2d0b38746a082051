"""Serves the files of the page to the window under `trimpoint://app/`."""

from pathlib import Path
from typing import Any

from PySide6.QtCore import QBuffer, QByteArray, QFile, QIODevice, QObject
from PySide6.QtWebEngineCore import (
    QWebEngineUrlRequestJob,
    QWebEngineUrlScheme,
    QWebEngineUrlSchemeHandler,
)

from trimpoint.http.static_files import BASE, INDEX, PAGE_POLICY, TYPES

NAME = b"trimpoint"
PAGE = "trimpoint://app/"
# Qt's own script defines a name; the page imports it.
_CHANNEL = "qwebchannel.js"
_CHANNEL_RESOURCE = ":/qtwebchannel/qwebchannel.js"
# The stubs of 6.11 do not know that a header may stand several times.
_HEADERS: Any = {
    QByteArray(b"Content-Security-Policy"): [QByteArray(PAGE_POLICY.encode())],
    QByteArray(b"X-Content-Type-Options"): [QByteArray(b"nosniff")],
}
_AS_MODULE = b"\nexport { QWebChannel };\n"


def register_scheme() -> None:
    """Registers the URL scheme `trimpoint` with an origin of its own. Must be called before the Qt
    application is created.
    """
    scheme = QWebEngineUrlScheme(NAME)
    scheme.setSyntax(QWebEngineUrlScheme.Syntax.Host)
    flag = QWebEngineUrlScheme.Flag
    scheme.setFlags(flag.SecureScheme | flag.CorsEnabled)
    QWebEngineUrlScheme.registerScheme(scheme)


class PageFiles(QWebEngineUrlSchemeHandler):
    """Serves the files of `folder`."""

    def __init__(self, folder: Path, parent: QObject) -> None:
        super().__init__(parent)
        self._folder = folder.resolve()

    def requestStarted(self, job: QWebEngineUrlRequestJob) -> None:
        """Answers a request of the page."""
        name = job.requestUrl().path().lstrip("/") or INDEX
        content = self._content(name)
        if content is None or bytes(job.requestMethod().data()) != b"GET":
            job.fail(QWebEngineUrlRequestJob.Error.UrlNotFound)
            return
        job.setAdditionalResponseHeaders(_HEADERS)
        # The job may outlive this call; what it reads from must live as long as it does.
        buffer = QBuffer(parent=job)
        buffer.setData(QByteArray(content))
        buffer.open(QIODevice.OpenModeFlag.ReadOnly)
        job.reply(QByteArray(TYPES[Path(name).suffix].encode()), buffer)

    def _content(self, name: str) -> bytes | None:
        if name == _CHANNEL:
            return _resource(_CHANNEL_RESOURCE) + _AS_MODULE
        path = (self._folder / name).resolve()
        if path.suffix not in TYPES or not path.is_relative_to(self._folder) or not path.is_file():
            return None
        content = path.read_bytes()
        return content.replace(BASE, b"") if name == INDEX else content


def _resource(name: str) -> bytes:
    file = QFile(name)
    file.open(QIODevice.OpenModeFlag.ReadOnly)
    return bytes(file.readAll().data())
