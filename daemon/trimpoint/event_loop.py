"""Runs an asynchronous function so that a signal always wakes its event loop.

Python handles a signal only between two of its own instructions. One that comes after the last of
them, when the event loop is about to wait, is not handled before something else wakes the loop:
Ctrl-C has no effect, and SIGTERM does not end an idle daemon (measured: 1 in 600 on a busy
machine, with the event loop of Python 3.11).
"""

import asyncio
import signal
import socket
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeVar, TypeVarTuple, Unpack

import anyio

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_SIGNALS_READ = 4096  # one byte each


def run(function: Callable[[Unpack[Arguments]], Awaitable[T]], *arguments: *Arguments) -> T:
    """Runs `function` in a new event loop, and returns its result. Ctrl-C cancels it, and is then
    raised as KeyboardInterrupt. Python handles signals in the main thread alone; in another one
    there is nothing to be woken for.
    """
    if threading.current_thread() is not threading.main_thread():
        return anyio.run(function, *arguments)  # noqa: TID251

    async def woken() -> T:
        with _woken_by_signals():
            return await function(*arguments)

    return anyio.run(woken)  # noqa: TID251


@contextmanager
def _woken_by_signals() -> Generator[None]:
    """Has each signal write to a socket that the running event loop reads, until the block ends."""
    loop = asyncio.get_running_loop()
    reader, writer = socket.socketpair()
    with reader, writer:
        for end in (reader, writer):
            end.setblocking(False)
        loop.add_reader(reader, reader.recv, _SIGNALS_READ)
        before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(before)
            loop.remove_reader(reader)
