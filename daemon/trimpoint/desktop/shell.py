"""Methods for the page, and signals to it; the other end is `web/app/link/shell.js`."""

from PySide6.QtCore import QObject, Signal, Slot

from trimpoint.desktop.sidecar import Sidecar


class Shell(QObject):
    """The object that Qt's channel hands to the page."""

    opened = Signal()
    received = Signal(str)
    closed = Signal(str)
    chosen = Signal(str)
    """An entry of the menu that the page carries out."""
    told = Signal(str, str)
    metered = Signal(int, str)

    def __init__(self, sidecar: Sidecar, parent: QObject) -> None:
        super().__init__(parent)
        self._sidecar = sidecar
        sidecar.opened.connect(self.opened)
        sidecar.received.connect(self.received)
        sidecar.closed.connect(self.closed)

    @Slot()
    def open(self) -> None:
        """Begins a connection; `opened` or `closed` follows."""
        self._sidecar.open()

    @Slot()
    def close(self) -> None:
        """Ends the connection."""
        self._sidecar.close()

    @Slot(str)
    def send(self, line: str) -> None:
        """Sends one message to the daemon."""
        self._sidecar.send(line)

    @Slot(str, str)
    def notify(self, title: str, text: str) -> None:
        """Tells the person something who looks elsewhere."""
        self.told.emit(title, text)

    @Slot(int, str)
    def showMeter(self, share: int, words: str) -> None:
        """Shows how full the context is; a share below 0 is unknown."""
        self.metered.emit(share, words)
