"""Starts the desktop application."""

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from trimpoint.desktop.scheme import register_scheme
from trimpoint.desktop.sidecar import Sidecar
from trimpoint.desktop.window import Window

# Qt runs no Python while nothing happens, and Python handles signals only while it runs.
_LOOK_FOR_SIGNALS_MS = 200


def run_window(command: Sequence[str], folder: Path, thread_id: str | None) -> int:
    """Shows the window until it is closed; returns the exit code.

    :param command: the command line of the process that connects to the daemon.
    :param folder: the folder with the files of the page.
    """
    register_scheme()
    application = QApplication([sys.argv[0]])
    application.setApplicationName("trimpoint")
    application.setDesktopFileName("trimpoint")
    sidecar = Sidecar(command, application)
    window = Window(sidecar, folder, thread_id)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: application.quit())
    timer = QTimer(application)
    timer.timeout.connect(lambda: None)
    timer.start(_LOOK_FOR_SIGNALS_MS)
    window.show()
    code = int(application.exec())
    sidecar.close()
    del window
    return code
