"""Runs `trimpoint stdio` for the page and exchanges JSON-RPC messages with it, one per line."""

from collections.abc import Sequence

from PySide6.QtCore import QByteArray, QObject, QProcess, Signal

# How much of a process's last output is reported when it ended unexpectedly.
_MOST_SAID = 2000
_GRACE_MS = 3000


class Sidecar(QObject):
    """Runs at most one process; the page requests another one when it has ended."""

    opened = Signal()
    received = Signal(str)
    closed = Signal(str)

    def __init__(self, command: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._command = list(command)
        self._process: QProcess | None = None
        self._rest = b""
        self._said = b""

    def open(self) -> None:
        """Starts a process unless one is running."""
        if self._process is not None:
            return
        self._rest = self._said = b""
        process = self._process = QProcess(self)
        # Chromium's own descriptors are none of its business, nor of a daemon that it starts.
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CloseFileDescriptors)
        process.started.connect(self.opened)
        process.readyReadStandardOutput.connect(self._read)
        process.readyReadStandardError.connect(self._read_errors)
        process.finished.connect(self._ended)
        process.errorOccurred.connect(self._failed)
        process.start(self._command[0], self._command[1:])

    def send(self, line: str) -> None:
        """Sends one message. If no process runs the message is dropped; the page knows this from
        `closed`.
        """
        if self._process is not None:
            self._process.write(QByteArray(line.encode() + b"\n"))

    def close(self) -> None:
        """Ends the process by closing its standard input; the daemon continues to run."""
        process = self._process
        if process is None:
            return
        process.closeWriteChannel()
        if not process.waitForFinished(_GRACE_MS):
            process.kill()
            process.waitForFinished(_GRACE_MS)

    def _read(self) -> None:
        if self._process is None:
            return
        *lines, self._rest = (
            self._rest + bytes(self._process.readAllStandardOutput().data())
        ).split(b"\n")
        for line in lines:
            if line:
                self.received.emit(line.decode("utf-8", "replace"))

    def _read_errors(self) -> None:
        if self._process is not None:
            said = self._said + bytes(self._process.readAllStandardError().data())
            self._said = said[-_MOST_SAID:]

    def _failed(self, error: QProcess.ProcessError) -> None:
        # Only where there was no process does nothing else follow.
        if error is QProcess.ProcessError.FailedToStart and self._process is not None:
            self._said = self._process.errorString().encode()
            self._ended()

    def _ended(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.deleteLater()
            self.closed.emit(self._said.decode("utf-8", "replace").strip())
