"""A service manager that hears what the daemon tells it."""

import socket

import anyio

from tests.deadlines import STEP_S


class Manager:
    """The socket of a service manager."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address.replace("@", "\0", 1) if address.startswith("@") else address)
        self._socket.setblocking(False)

    def heard(self) -> list[str]:
        """Returns all messages that have arrived since the last call."""
        said: list[str] = []
        while True:
            try:
                said.append(self._socket.recv(4096).decode())
            except BlockingIOError:
                return said

    async def hears(self) -> str:
        """Waits for the next message and returns it."""
        with anyio.fail_after(STEP_S):
            await anyio.wait_readable(self._socket)
        return self._socket.recv(4096).decode()

    def close(self) -> None:
        self._socket.close()
