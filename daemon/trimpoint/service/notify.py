"""Telling the service manager how the daemon is: `sd_notify(3)`, datagrams to the socket that
`NOTIFY_SOCKET` names.

Always true: telling never waits and never fails. A service manager that does not listen is no
reason for a daemon to stop serving.

Own code, because no package fits: sdnotify rests since 2017, cysystemd and systemd-python are C
extensions for what is one datagram, systemd-watchdog and async-sdnotify block or raise where this
must not, and none takes the variables out of the environment, which all that the daemon starts
would inherit.
"""

import os
import socket
from collections.abc import MutableMapping
from contextlib import suppress

_MAX_STATUS_CHARS = 200


class Notifier:
    """Made by `from_environment`. Without a service manager every method does nothing."""

    def __init__(self, address: str | None = None, watchdog_s: float | None = None) -> None:
        self.watchdog_s = watchdog_s
        """How long the service manager waits for a sign of life before it takes the daemon for
        hung; None when it does not.
        """
        self._address = (
            address.replace("@", "\0", 1)
            if address is not None and address.startswith("@")
            else address
        )
        self._socket: socket.socket | None = None
        self._status = ""
        if self._address:
            self._socket = socket.socket(
                socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
            )

    @property
    def has_receiver(self) -> bool:
        """Returns whether there is a service manager."""
        return self._socket is not None

    def ready(self) -> None:
        """Clients can connect."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """Sets the line that `systemctl status` shows. Sent only when it changed."""
        line = " ".join(text.split())[:_MAX_STATUS_CHARS]
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def alive(self) -> None:
        """Calls it at least twice in each `watchdog_s`, from the very loop whose turning it is to
        prove.
        """
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Notifies that the daemon is stopping."""
        self._send("STOPPING=1")

    def close(self) -> None:
        """Says nothing more. May be called again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: str) -> None:
        if self._socket is not None and self._address is not None:
            with suppress(OSError):
                self._socket.sendto(message.encode("utf-8", "replace"), self._address)


def notifier_from(environ: MutableMapping[str, str], pid: int) -> Notifier:
    """Returns the way to the service manager that `environ` names. Its variables are taken out:
    they are for this process alone.

    :param pid: of this process; a watchdog that was meant for another is none
    """
    address = environ.pop("NOTIFY_SOCKET", "")
    watchdog_usec = environ.pop("WATCHDOG_USEC", "")
    watchdog_pid = environ.pop("WATCHDOG_PID", "")
    is_for_us = watchdog_pid in {"", str(pid)}
    watchdog_s = (
        int(watchdog_usec) / 1e6
        if is_for_us and watchdog_usec.isdecimal() and int(watchdog_usec)
        else None
    )
    return Notifier(address, watchdog_s) if address[:1] in {"/", "@"} else Notifier()


def own_notifier() -> Notifier:
    """Returns the service manager of this process."""
    return notifier_from(os.environ, os.getpid())
