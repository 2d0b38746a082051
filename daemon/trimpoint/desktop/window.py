"""The window: the page, a menu, and links that open in the browser."""

from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QUrl, Signal, Slot
from PySide6.QtGui import QDesktopServices, QKeySequence
from PySide6.QtWebChannel import QWebChannel
from PySide6.QtWebEngineCore import (
    QWebEngineNewWindowRequest,
    QWebEnginePage,
    QWebEngineProfile,
    QWebEngineSettings,
)
from PySide6.QtWebEngineWidgets import QWebEngineView
from PySide6.QtWidgets import QMainWindow

from trimpoint.desktop.scheme import NAME, PAGE, PageFiles
from trimpoint.desktop.sidecar import Sidecar
from trimpoint.desktop.tray import Tray, icon

_SIZE = (1280, 820)
_ZOOM_STEP = 0.1
_PANELS = (("&Search", "search"), ("&Context", "context"), ("&Files", "checkpoints"))
_LINKS = frozenset({"http", "https", "mailto"})


class Shell(QObject):
    """The object that Qt's web channel offers to the page."""

    opened = Signal()
    received = Signal(str)
    closed = Signal(str)
    chosen = Signal(str)
    """An entry of the menu that the page carries out."""
    notified = Signal(str, str)
    metered = Signal(int, str)

    def __init__(self, sidecar: Sidecar, parent: QObject) -> None:
        super().__init__(parent)
        self._sidecar = sidecar
        sidecar.opened.connect(self.opened)
        sidecar.received.connect(self.received)
        sidecar.closed.connect(self.closed)

    @Slot()
    def open(self) -> None:
        """Opens a connection; the signal `opened` or `closed` follows."""
        self._sidecar.open()

    @Slot()
    def close(self) -> None:
        """Closes the connection."""
        self._sidecar.close()

    @Slot(str)
    def send(self, line: str) -> None:
        """Sends one message to the daemon."""
        self._sidecar.send(line)

    @Slot(str, str)
    def notify(self, title: str, text: str) -> None:
        """Shows a desktop notification, for a person who looks at another window."""
        self.notified.emit(title, text)

    @Slot(int, str)
    def showMeter(self, share: int, words: str) -> None:
        """Shows how full the context is, in percent; a negative number means unknown."""
        self.metered.emit(share, words)


class _Page(QWebEnginePage):
    """A web page that only shows trimpoint's own page; other links open in the person's browser."""

    def acceptNavigationRequest(
        self, url: QUrl | str, type: QWebEnginePage.NavigationType, isMainFrame: bool
    ) -> bool:
        """Returns whether the page may navigate to an address."""
        del type, isMainFrame
        address = QUrl(url)
        if address.scheme() == NAME.decode():
            return True
        open_outside(address)
        return False


class Window(QMainWindow):
    """A window that is connected to the daemon through `sidecar`."""

    def __init__(self, sidecar: Sidecar, folder: Path, thread_id: str | None) -> None:
        super().__init__()
        self._sidecar = sidecar
        self.setWindowTitle("trimpoint")
        self.setWindowIcon(icon(-1))
        self.resize(*_SIZE)
        self._shell = Shell(sidecar, self)
        # Without a name it keeps nothing on the disk. It must outlive its page, and so the window.
        self._profile = QWebEngineProfile(sidecar.parent())
        self._profile.installUrlSchemeHandler(NAME, PageFiles(folder, self))
        self._view = QWebEngineView(self)
        self._page = self._opened_page(thread_id)
        self._view.setPage(self._page)
        self.setCentralWidget(self._view)
        self._fill_menu()

    def _opened_page(self, thread_id: str | None) -> QWebEnginePage:
        page = _Page(self._profile, self._view)
        settings = page.settings()
        settings.setAttribute(QWebEngineSettings.WebAttribute.JavascriptCanAccessClipboard, True)
        page.newWindowRequested.connect(_open_requested)
        page.titleChanged.connect(self.setWindowTitle)
        channel = QWebChannel(page)
        channel.registerObject("shell", self._shell)
        page.setWebChannel(channel)
        page.load(QUrl(PAGE + (f"#/thread/{thread_id}" if thread_id else "")))
        return page

    def _fill_menu(self) -> None:
        file, view = self.menuBar().addMenu("&Thread"), self.menuBar().addMenu("&View")
        file.addAction("&New …", QKeySequence.StandardKey.New, partial(self._choose, "new"))
        file.addSeparator()
        quit_action = file.addAction("&Quit", QKeySequence("Ctrl+Q"), self.close)
        for words, name in _PANELS:
            view.addAction(words, partial(self._choose, name))
        view.addSeparator()
        view.addAction("&Larger", QKeySequence.StandardKey.ZoomIn, lambda: self._zoom(_ZOOM_STEP))
        view.addAction(
            "S&maller", QKeySequence.StandardKey.ZoomOut, lambda: self._zoom(-_ZOOM_STEP)
        )
        view.addAction("&Reload", QKeySequence.StandardKey.Refresh, self._view.reload)
        self._tray = Tray(self, quit_action)
        self._shell.notified.connect(self._tray.notify)
        self._shell.metered.connect(self._tray.show_meter)

    def _choose(self, name: str) -> None:
        self._shell.chosen.emit(name)

    def _zoom(self, step: float) -> None:
        self._view.setZoomFactor(self._view.zoomFactor() + step)


def _open_requested(request: QWebEngineNewWindowRequest) -> None:
    open_outside(request.requestedUrl())


def open_outside(address: QUrl) -> None:
    """Opens a web or mail link in the person's browser; other links are ignored."""
    if address.scheme() in _LINKS:
        QDesktopServices.openUrl(address)
