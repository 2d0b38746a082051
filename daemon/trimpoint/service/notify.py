"""Sends the daemon's state to the service manager: `sd_notify(3)`, datagrams to the socket in
`NOTIFY_SOCKET`.

Always true: sending never waits and never fails, because a daemon must go on serving without its
service manager.

This is own code because no package fits: sdnotify has had no release since 2017, cysystemd and
systemd-python are C extensions, systemd-watchdog and async-sdnotify block or raise, and none of
them removes the variables from the environment, which the daemon's children would inherit.
"""

import os
import socket
from collections.abc import AsyncGenerator, Callable, MutableMapping
from contextlib import asynccontextmanager, suppress

import anyio

_MAX_STATUS_CHARS = 200


class Notifier:
    """Sends states to the service manager. Without a service manager, every method does nothing."""

    def __init__(self, address: str | None = None, watchdog_s: float | None = None) -> None:
        self.watchdog_s = watchdog_s
        """The seconds after which the service manager regards a daemon that does not call `alive`
        as hung; None without a watchdog.
        """
        self._address = (
            address.replace("@", "\0", 1)
            if address is not None and address.startswith("@")
            else address
        )
        self._socket: socket.socket | None = None
        self._status = ""
        if self._address:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._socket.setblocking(False)

    @property
    def has_receiver(self) -> bool:
        """Returns whether there is a service manager."""
        return self._socket is not None

    def ready(self) -> None:
        """Reports that clients can connect."""
        self._send("READY=1")

    def status(self, text: str) -> None:
        """Sets the line that `systemctl status` shows. It is sent only when it has changed."""
        line = " ".join(text.split())[:_MAX_STATUS_CHARS]
        if line != self._status:
            self._status = line
            self._send(f"STATUS={line}")

    def alive(self) -> None:
        """Reports that the daemon's event loop is running. Call it from that loop, at least twice
        in each `watchdog_s`.
        """
        self._send("WATCHDOG=1")

    def stopping(self) -> None:
        """Reports that the daemon is stopping."""
        self._send("STOPPING=1")

    def close(self) -> None:
        """Closes the socket; nothing is sent afterwards. May be called again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _send(self, message: str) -> None:
        if self._socket is not None and self._address is not None:
            with suppress(OSError):
                self._socket.sendto(message.encode("utf-8", "replace"), self._address)


def notifier_from(environ: MutableMapping[str, str], pid: int) -> Notifier:
    """Returns a notifier for the service manager that `environ` names, and removes its variables,
    which are for this process alone.

    :param pid: the id of this process; a watchdog that was meant for another process is ignored.
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
    """Returns a notifier for this process's service manager."""
    return notifier_from(os.environ, os.getpid())


# The status is for people, who need no shorter interval.
_STATUS_EVERY_S = 5.0


@asynccontextmanager
async def reported(notifier: Notifier, describe: Callable[[], str]) -> AsyncGenerator[None]:
    """Reports the daemon as ready, and keeps reporting its state until the block ends.

    The status line is the result of `describe()`. The watchdog's signals are sent from this event
    loop. Enter it once clients can connect.
    """
    if not notifier.has_receiver:
        yield
        return
    notifier.status(describe())
    notifier.ready()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_keep_reporting, notifier, describe)
            yield
            tasks.cancel_scope.cancel()
    finally:
        notifier.stopping()
        notifier.status("Stopping.")


async def _keep_reporting(notifier: Notifier, describe: Callable[[], str]) -> None:
    every_s = min(_STATUS_EVERY_S, (notifier.watchdog_s or _STATUS_EVERY_S * 2) / 2)
    while True:
        notifier.alive()
        notifier.status(describe())
        await anyio.sleep(every_s)
