"""Opens the configured TCP listeners and those that a service manager handed over.

If a listener cannot be opened this is logged, and the daemon continues with its Unix socket.
"""

import socket
from collections.abc import Sequence
from pathlib import Path

import structlog
from anyio.abc import TaskGroup

from trimpoint.background import spawn
from trimpoint.config.sections import MAX_PORT, HttpSection, is_loopback
from trimpoint.gateway.methods.extension.http_addresses import HttpAddresses
from trimpoint.http.front import Front
from trimpoint.http.tcp_listener import Address, address_of, bind, serve_tcp
from trimpoint.transport.acceptor import Accept

log = structlog.get_logger()

PORT_FILE = "http-port"
_LOOPBACK = "127.0.0.1"


class HttpListeners:
    """Opens listeners and serves their clients in `tasks`; publishes the addresses in
    `addresses`.
    """

    def __init__(
        self,
        front: Front,
        addresses: HttpAddresses,
        state_dir: Path,
        section: HttpSection,
        tasks: TaskGroup,
    ) -> None:
        self._front = front
        self.addresses = addresses
        self._state_dir = state_dir
        self._section = section
        self._tasks = tasks

    async def listen(
        self,
        metrics: tuple[str, int] | None,
        handed_over: Sequence[socket.socket],
    ) -> None:
        """Listens at the configured addresses and on the sockets that were handed over."""
        http = self._section.address()
        if metrics is not None and (listener := _opened("metrics", metrics)) is not None:
            await self._serve("metrics", listener, self._front.serve_metrics)
        opened = [_opened("http", http)] if http is not None else []
        listeners = [*filter(None, opened), *filter(self._is_allowed, handed_over)]
        accept = self._http_clients() if listeners else None
        for listener in listeners:
            if accept is None:
                listener.close()
            else:
                address = await self._serve("http", listener, accept)
                self.addresses.known.append(f"http://{address}")
        spawn(self._tasks, self._listen_when_asked)

    async def _listen_when_asked(self) -> None:
        """Listens at a loopback address as soon as a client requests one, as `trimpoint open` does.

        The previous port is used again if it is free, so that open pages can reconnect.
        """
        await self.addresses.asked.wait()
        try:
            accept = self._http_clients()
            before = Address(_LOOPBACK, _port_in(self._state_dir / PORT_FILE))
            listener = _bound(before) or _opened("http", Address(_LOOPBACK, 0))
            if accept is not None and listener is not None:
                address = await self._serve("http", listener, accept)
                self.addresses.known.append(f"http://{address}")
                _note_port(self._state_dir / PORT_FILE, address_of(listener).port)
        finally:
            self.addresses.answered.set()

    def _is_allowed(self, listener: socket.socket) -> bool:
        """Returns whether a socket that was handed over may be served; closes it if not."""
        address = address_of(listener)
        if self._section.allow_remote or is_loopback(address.host):
            return True
        log.error(
            "http_not_served",
            address=str(address),
            detail="other machines can reach it, and allow_remote is not set",
        )
        listener.close()
        return False

    def _http_clients(self) -> Accept | None:
        from trimpoint.http.access.token_file import CurrentCredentials, TokenUnusable

        try:
            tokens = CurrentCredentials(self._state_dir)
        except (TokenUnusable, OSError) as error:
            hint = error.hint if isinstance(error, TokenUnusable) else ""
            log.error("http_not_served", detail=str(error), hint=hint)
            return None
        return self._front.tcp_clients(tokens, frozenset(self._section.hosts), self.addresses.codes)

    async def _serve(self, what: str, listener: socket.socket, accept: Accept) -> str:
        address = str(address_of(listener))
        await self._tasks.start(serve_tcp, listener, accept)
        log.info(f"{what}_served", address=address)
        return address


def _opened(what: str, place: tuple[str, int]) -> socket.socket | None:
    try:
        return bind(Address(*place))
    except OSError as error:
        log.error(
            f"{what}_not_served", address=str(Address(*place)), detail=error.strerror or str(error)
        )
        return None


def _bound(place: Address) -> socket.socket | None:
    """Returns a listener at the previous port; None if there was none, or the port is taken."""
    try:
        return bind(place) if place.port else None
    except OSError:
        return None


def _port_in(path: Path) -> int:
    """Returns the port number in a file, 0 if there is none."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return 0
    return int(text) if text.isdecimal() and 0 < int(text) <= MAX_PORT else 0


def _note_port(path: Path, port: int) -> None:
    try:
        path.write_text(f"{port}\n", encoding="ascii")
    except OSError as error:
        log.warning("http_port_not_noted", path=str(path), detail=error.strerror)
