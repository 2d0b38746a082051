"""Finds the thread that a request names, without decoding its other parameters, and the ids and
names that are longer than any can be.
"""

import msgspec
from msgspec import Raw


class _Named(msgspec.Struct, rename="camel"):
    thread_id: str | None = None


class _Params(msgspec.Struct, rename="camel"):
    thread_id: str | None = None
    command: _Named | str | list[str] | None = None


_decode = msgspec.json.Decoder(_Params).decode
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode
LONGEST_BYTES = {
    "threadId": 1_024,
    "turnId": 1_024,
    "expectedTurnId": 1_024,
    "lastTurnId": 1_024,
    "beforeTurnId": 1_024,
    "name": 64 * 1_024,
    "cursor": 64 * 1_024,
    # Linux has no path of more than 4 KiB, and a byte of it takes up to 6 in JSON.
    "cwd": 6 * 4_096,
    # Linux runs no command of more than 128 KiB, and a byte of it takes up to 6 in JSON.
    "command": 6 * 128 * 1_024,
}
"""Members of parameters → how long they may be where they are text, in bytes of JSON."""


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


def over_long_member(params: Raw | None) -> str | None:
    """Returns the name of a member that is longer than `LONGEST_BYTES` has it, or None.

    It is found without decoding it: each further step with megabytes of it would keep other
    clients waiting.
    """
    try:
        members = _decode_members(params or b"{}")
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None  # the handler reports the error
    return next(
        (
            name
            for name, limit in LONGEST_BYTES.items()
            if name in members and _is_longer_text(memoryview(members[name]), limit)
        ),
        None,
    )


def _is_longer_text(member: memoryview, limit: int) -> bool:
    return len(member) > limit and bytes(member[:1]) == b'"'
