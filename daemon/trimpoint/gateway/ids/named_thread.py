"""Finds the thread that a request names, without decoding its other parameters."""

import msgspec
from msgspec import Raw


class _Named(msgspec.Struct, rename="camel"):
    thread_id: str | None = None


class _Params(msgspec.Struct, rename="camel"):
    thread_id: str | None = None
    command: _Named | str | list[str] | None = None


_decode = msgspec.json.Decoder(_Params).decode


def named_thread(params: Raw | None) -> str | None:
    """Returns the thread id in a request's parameters, or None if they hold none."""
    if params is None:
        return None
    try:
        named = _decode(params)
    except msgspec.MsgspecError:
        return None  # the handler reports the error
    if named.thread_id is None and isinstance(named.command, _Named):
        return named.command.thread_id
    return named.thread_id
