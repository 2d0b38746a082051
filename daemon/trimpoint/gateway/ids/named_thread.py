"""Finds the thread that a request names in its parameters; nothing else of them is looked at."""

import msgspec
from msgspec import Raw


class _Named(msgspec.Struct, rename="camel"):
    thread_id: str | None = None


class _Params(msgspec.Struct, rename="camel"):
    thread_id: str | None = None
    command: _Named | str | list[str] | None = None


_decode = msgspec.json.Decoder(_Params).decode


def named_thread(params: Raw | None) -> str | None:
    """Returns the thread id in a request, of whichever profile; None where there is none."""
    if params is None:
        return None
    try:
        named = _decode(params)
    except msgspec.MsgspecError:
        return None  # its handler says what is wrong
    if named.thread_id is None and isinstance(named.command, _Named):
        return named.command.thread_id
    return named.thread_id
