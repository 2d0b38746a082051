"""Replaces stable ids by provider ids in messages, or the reverse. Pure functions over a lookup.

Always true: an id is replaced only where the protocol has an id, never inside text. A value is
replaced if its member's name is in `ID_MEMBERS` or `TURN_ID_MEMBERS`, and the whole value is a
known id. Members with free content (`CONTENT_MEMBERS`) are not searched.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict, as_list

Lookup = Callable[[str], str | None]

# Members that hold one thread id, or a list of them, anywhere in Codex's protocol (its own schema,
# 0.133 to 0.171, which tests/gateway/ids/test_mapping_against_schema.py compares these tables
# with). A realtime session is called like its thread unless a client names it.
ID_MEMBERS = frozenset(
    {
        "threadId", "id", "sessionId", "parentThreadId", "ancestorThreadId", "attachedToThreadId",
        "beforeThreadId", "forkedFromId", "senderThreadId", "agentThreadId", "reviewThreadId",
        "newThreadId", "receiverThreadId", "conversationId", "parent_thread_id",
        "receiverThreadIds", "threadIds", "excludedThreadIds", "includedThreadIds", "threads",
        "realtimeSessionId",
    }
)  # fmt: skip
# Members that hold the id of a turn. A repeated turn has two ids.
TURN_ID_MEMBERS = frozenset(
    {
        "turnId",
        "rootTurnId",
        "parentTurnId",
        "sourceTurnId",
        "expectedTurnId",
        "beforeTurnId",
        "lastTurnId",
        "turn_id",
    }
)
_REWRITTEN = ID_MEMBERS | TURN_ID_MEMBERS
# Members that hold what people, models and tools wrote. Nothing in them may be changed.
CONTENT_MEMBERS = frozenset(
    {
        "text", "delta", "arguments", "output", "aggregatedOutput", "structuredContent", "content",
        "contentItems", "config", "_meta", "message", "command", "diff", "prompt",
        "developerInstructions", "baseInstructions", "outputSchema", "result", "input", "preview",
        "patch", "changes", "inputSchema", "requestedSchema", "answers", "additionalContext",
        "responsesapiClientMetadata", "responsesapiClientMetadataPatch", "value", "effectiveValue",
        "payload", "metadata", "history", "results", "event", "notification", "env", "tags",
        "labels", "headers", "span_attributes", "tracestate", "annotations", "icons", "iconAssets",
        "iconDarkAssets", "extensions", "modelProviders", "serverCapabilities", "toolListMeta",
        "rateLimitUpsell", "codexResponseHandoffChannelPrefixes",
    }
)  # fmt: skip
# Opaque to clients; Codex writes JSON into them that names the thread (measured: 0.163).
CURSOR_MEMBERS = frozenset(
    {
        "cursor",
        "nextCursor",
        "backwardsCursor",
        "turnsBackwardsCursor",
        "itemsBackwardsCursor",
        "turnCursor",
    }
)
_THREAD_ID = b'"threadId":"'
_TURN_ID = b'"turnId":"'
MAX_DASHES = 100_000
_DIGITS_AS_ZERO = bytes.maketrans(b"123456789abcdef", b"0" * 15)
_UUID_SHAPE = b"00000000-0000-0000-0000-000000000000"
_HEAD_DIGITS = 8
_UUID_TAIL = re.compile(rb"-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def rewrite_ids(value: Any, lookup: Lookup) -> Any:
    """Returns a copy of a decoded message in which every known id is replaced."""
    if isinstance(value, dict):
        given = as_dict(value)
        return {_key(key, lookup): _member(key, member, lookup) for key, member in given.items()}
    if isinstance(value, list):
        return [rewrite_ids(member, lookup) for member in as_list(value)]
    return value


def mentions_any(message: bytes, known: Mapping[str, Any]) -> bool:
    """Returns whether any id in `known` occurs in the message. A message without one need not be
    decoded.

    UUIDs are found by their dashes, which is a hundred times faster than trying each byte as the
    start of an id.
    """
    if len(message) > MAX_DASHES and message.count(b"-") > MAX_DASHES:
        return _mentions_any_among_dashes(message, known)
    ends = (match.start() for match in _UUID_TAIL.finditer(message))
    return any(_starts_with_id(message, dash, known) for dash in ends)


def _mentions_any_among_dashes(message: bytes, known: Mapping[str, Any]) -> bool:
    """Returns the same as `mentions_any`, in a time that depends only on the message's length. To
    look at each id takes a fifth of the time that rewriting the message takes.
    """
    shape, start = message.translate(_DIGITS_AS_ZERO), -1
    while (start := shape.find(_UUID_SHAPE, start + 1)) >= 0:
        if message[start : start + len(_UUID_SHAPE)].decode() in known:
            return True
    return False


def _starts_with_id(message: bytes, dash: int, known: Mapping[str, Any]) -> bool:
    found = _UUID.match(message, max(0, dash - _HEAD_DIGITS))
    return found is not None and found[0].decode() in known


def rewrite_thread_id(line: bytes, lookup: Lookup) -> bytes:
    """Returns a delta with its `threadId` replaced, without decoding the rest.

    Inside a JSON string the quotes would be escaped, so the searched bytes can only be a member,
    and a delta has only one.
    """
    return _rewrite_first(_THREAD_ID, line, lookup)


def rewrite_turn_id(line: bytes, lookup: Lookup) -> bytes:
    """Returns a delta with its `turnId` replaced, in the same way as `rewrite_thread_id`."""
    return _rewrite_first(_TURN_ID, line, lookup)


def _rewrite_first(name: bytes, line: bytes, lookup: Lookup) -> bytes:
    start = line.find(name) + len(name)
    end = line.find(b'"', start)
    if start < len(name) or end < 0:
        return line
    old = line[start:end].decode()
    new = lookup(old)
    return (
        line if new is None or new == old else b"%b%b%b" % (line[:start], new.encode(), line[end:])
    )


def rewrite_thread_id_of_run(lines: list[bytes], lookup: Lookup) -> bytes:
    """Returns deltas joined by newlines, with their `threadId` replaced. They must be identical up
    to the end of that id.
    """
    first = lines[0]
    exchanged = rewrite_thread_id(first, lookup)
    if exchanged is first:
        return b"\n".join(lines)
    after_id = first.find(b'"', first.find(_THREAD_ID) + len(_THREAD_ID))
    new_head = exchanged[: len(exchanged) - len(first) + after_id]
    return new_head + (b"\n" + new_head).join([line[after_id:] for line in lines])


def rewrite_ids_in_line(line: bytes, lookup: Lookup) -> bytes:
    """Returns a notification with the ids among its parameters replaced. Everything inside the
    parameters stays byte for byte the same.
    """
    message: dict[str, Raw] = msgspec.json.decode(line, type=dict[str, Raw])
    return msgspec.json.encode(
        {**message, "params": Raw(rewrite_ids_in_params(bytes(message["params"]), lookup))}
    )


def rewrite_ids_in_params(params: bytes, lookup: Lookup) -> bytes:
    """Returns parameters with the ids among their direct members replaced. Everything below stays
    byte for byte the same.
    """
    members: dict[str, Raw] = msgspec.json.decode(params, type=dict[str, Raw])
    return msgspec.json.encode(
        {name: _raw_member(name, member, lookup) for name, member in members.items()}
    )


def rewrite_ids_in_error(error: bytes, lookup: Lookup) -> bytes:
    """Returns an error object of Codex with the ids in its text replaced. Unlike other text,
    Codex's error messages name threads by id.
    """
    return _UUID.sub(lambda found: (lookup(found[0].decode()) or found[0].decode()).encode(), error)


def rewrite_ids_in_large_object(message: bytes, lookup: Lookup) -> bytes:
    """Returns a JSON object with every known id replaced, like `rewrite_ids_in_encoded`, but
    without decoding texts and free content.
    """
    members: dict[str, Raw] = msgspec.json.decode(message, type=dict[str, Raw])
    kept = {name: member for name, member in members.items() if _has_no_id(name, member)}
    others = {
        name: msgspec.json.decode(member) for name, member in members.items() if name not in kept
    }
    return msgspec.json.encode({**kept, **rewrite_ids(others, lookup)})


def _has_no_id(name: str, member: Raw) -> bool:
    if name in CONTENT_MEMBERS:
        return True
    is_looked_at = name in _REWRITTEN or name in CURSOR_MEMBERS
    return bytes(memoryview(member)[:1]) == b'"' and not is_looked_at and len(name) != 36


def rewrite_ids_in_encoded(message: bytes, lookup: Lookup) -> bytes:
    """Returns JSON text with every known id replaced, like `rewrite_ids`."""
    return msgspec.json.encode(rewrite_ids(msgspec.json.decode(message), lookup))


def _member(name: str, member: Any, lookup: Lookup) -> Any:
    if name in CONTENT_MEMBERS:
        return member
    if name in CURSOR_MEMBERS and isinstance(member, str):
        return rewrite_ids_in_error(member.encode(), lookup).decode()
    if name in _REWRITTEN and isinstance(member, str):
        return lookup(member) or member
    if name in ID_MEMBERS and isinstance(member, list):
        return [_member(name, entry, lookup) for entry in as_list(member)]
    return rewrite_ids(member, lookup)


def _key(name: str, lookup: Lookup) -> str:
    """Returns the key of a map, replaced if it is a known thread id (as in `agentsStates`)."""
    return lookup(name) or name if len(name) == 36 else name


def _raw_member(name: str, member: Raw, lookup: Lookup) -> Raw:
    if name not in _REWRITTEN or not bytes(member).startswith(b'"'):
        return member
    return Raw(msgspec.json.encode(_member(name, msgspec.json.decode(member), lookup)))
