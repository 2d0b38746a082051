"""Opens the TCP listeners that are configured, and those that a service manager handed over.

A listener that cannot be had is logged: the daemon and its Unix socket are worth more than it.
"""

import socket
from collections.abc import Sequence
from pathlib import Path

import structlog
from anyio.abc import TaskGroup

from trimpoint.gateway.methods.http_addresses import HttpAddresses
from trimpoint.gateway.transport.acceptor import Accept
from trimpoint.http.front import Front

log = structlog.get_logger()


class HttpListeners:
    """Clients are served in `tasks`; `addresses` is told where. `hosts` are names by which we may be called."""

    def __init__(self, front: Front, addresses: HttpAddresses, state_dir: Path, hosts: frozenset[str], tasks: TaskGroup) -> None:
        self._front = front
        self.addresses = addresses
        self._state_dir = state_dir
        self._hosts = hosts
        self._tasks = tasks

    async def listen(
        self,
        metrics: tuple[str, int] | None,
        http: tuple[str, int] | None,
        handed_over: Sequence[socket.socket],
    ) -> None:
        """Listen at the addresses that are given, and on the sockets that were handed over."""
        if metrics is not None and (listener := _opened("metrics", metrics)) is not None:
            await self._serve("metrics", listener, self._front.serve_metrics)
        opened = [_opened("http", http)] if http is not None else []
        listeners = [*filter(None, opened), *handed_over]
        accept = self._http_clients() if listeners else None
        for listener in listeners:
            if accept is None:
                listener.close()
            else:
                address = await self._serve("http", listener, accept)
                self.addresses.known.append(f"http://{address}")

    def _http_clients(self) -> Accept | None:
        from trimpoint.http.token_file import TokenUnusable, token_at

        try:
            token = token_at(self._state_dir)
        except (TokenUnusable, OSError) as error:
            hint = error.hint if isinstance(error, TokenUnusable) else ""
            log.error("http_not_served", detail=str(error), hint=hint)
            return None
        return self._front.tcp_clients(token, self._hosts, self.addresses.codes)

    async def _serve(self, what: str, listener: socket.socket, accept: Accept) -> str:
        from trimpoint.http.tcp_listener import address_of, serve_tcp

        address = str(address_of(listener))
        await self._tasks.start(serve_tcp, listener, accept)
        log.info(f"{what}_served", address=address)
        return address


def _opened(what: str, place: tuple[str, int]) -> socket.socket | None:
    from trimpoint.http.tcp_listener import Address, bind

    try:
        return bind(Address(*place))
    except OSError as error:
        log.error(f"{what}_not_served", address=str(Address(*place)), detail=error.strerror or str(error))
        return None
