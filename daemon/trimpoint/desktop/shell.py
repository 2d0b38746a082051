"""The methods and signals that the page can use; their counterpart is `web/app/link/shell.js`."""

from PySide6.QtCore import QObject, Signal, Slot

from trimpoint.desktop.sidecar import Sidecar


class Shell(QObject):
    """The object that Qt's web channel offers to the page."""

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
        self.told.emit(title, text)

    @Slot(int, str)
    def showMeter(self, share: int, words: str) -> None:
        """Shows how full the context is, in percent; a negative number means unknown."""
        self.metered.emit(share, words)
