"""The tray icon: shows how full the context is and the agent's notifications."""

from PySide6.QtCore import QObject, QRect, Qt
from PySide6.QtGui import QAction, QColor, QIcon, QPainter, QPen, QPixmap
from PySide6.QtWidgets import QMenu, QSystemTrayIcon, QWidget

_SIDE = 64
_LINE = 10
_WHOLE = 360 * 16  # Qt counts sixteenths of a degree
_TOP = 90 * 16
_GOOD, _WARNING, _CRITICAL, _GROUND = "#2f9e62", "#d8940b", "#d64545", "#8a8f98"
_WARNING_FROM, _CRITICAL_FROM = 70, 90


class Tray(QObject):
    """A tray icon that opens the window when it is clicked; does nothing if the desktop has no
    tray.
    """

    def __init__(self, window: QWidget, quit_action: QAction) -> None:
        super().__init__(window)
        self._window = window
        self._icon = QSystemTrayIcon(icon(-1), self)
        menu = QMenu("trimpoint", window)
        menu.addAction("Show trimpoint", self.raise_window)
        menu.addAction(quit_action)
        self._icon.setContextMenu(menu)
        self._icon.setToolTip("trimpoint")
        self._icon.activated.connect(self.raise_window)
        self._icon.messageClicked.connect(self.raise_window)
        if QSystemTrayIcon.isSystemTrayAvailable():
            self._icon.show()

    def show_meter(self, share: int, words: str) -> None:
        """Shows how full the open thread's context is."""
        self._icon.setIcon(icon(share))
        self._icon.setToolTip(f"trimpoint: {words}")

    def notify(self, title: str, text: str) -> None:
        """Shows a notification; a click on it opens the window."""
        if self._icon.isVisible():
            self._icon.showMessage(title, text)

    def raise_window(self) -> None:
        """Shows the window in front of the others."""
        self._window.show()
        self._window.raise_()
        self._window.activateWindow()


def icon(share: int) -> QIcon:
    """Returns an icon with a ring that is filled to `share` percent; an empty ring if `share` is
    negative.
    """
    pixmap = QPixmap(_SIDE, _SIDE)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    ring = QRect(_LINE, _LINE, _SIDE - 2 * _LINE, _SIDE - 2 * _LINE)
    painter.setPen(_pen(_GROUND))
    painter.drawEllipse(ring)
    if share > 0:
        painter.setPen(_pen(_colour(share)))
        painter.drawArc(ring, _TOP, -round(_WHOLE * min(share, 100) / 100))
    painter.end()
    return QIcon(pixmap)


def _pen(colour: str) -> QPen:
    return QPen(QColor(colour), _LINE)


def _colour(share: int) -> str:
    if share >= _CRITICAL_FROM:
        return _CRITICAL
    return _WARNING if share >= _WARNING_FROM else _GOOD
