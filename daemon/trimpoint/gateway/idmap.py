"""Stable ids and provider ids, exchanged in messages. Pure over a lookup.

The law: an id is exchanged where the protocol has an id, never inside text. A value is exchanged when its member is named as one that
holds thread ids and it is, as a whole, the id of a thread that is known. Members that hold free content are not entered.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

Lookup = Callable[[str], str | None]

# Members that hold one thread id, or a list of them, anywhere in Codex's protocol (its own schema, 0.163 to 0.171).
ID_MEMBERS = frozenset(
    {
        "threadId", "id", "sessionId", "parentThreadId", "ancestorThreadId", "attachedToThreadId", "beforeThreadId",
        "forkedFromId", "senderThreadId", "agentThreadId", "reviewThreadId", "newThreadId", "receiverThreadId",
        "conversationId", "parent_thread_id", "receiverThreadIds", "threadIds", "excludedThreadIds", "includedThreadIds",
        "threads",
    }
)  # fmt: skip
# Members that hold what people, models and tools wrote. Nothing in them is ours to change.
CONTENT_MEMBERS = frozenset(
    {
        "text", "delta", "arguments", "output", "aggregatedOutput", "structuredContent", "content", "contentItems", "config",
        "_meta", "message", "command", "diff", "prompt", "developerInstructions", "baseInstructions", "outputSchema", "result",
        "input", "preview", "patch", "changes",
    }
)  # fmt: skip
# `item` and `items` are Codex's display items, entered for their thread ids, except where they are raw model items.
RAW_ITEM_METHODS = frozenset({"rawResponseItem/completed", "thread/inject_items"})
_ROLLOUT_PATH = re.compile(
    rb'"path":"[^"]*rollout-[^"/]*-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})\.jsonl"'
)
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def exchange(value: Any, lookup: Lookup) -> Any:
    """A copy of a decoded message with every known id in an id's place exchanged."""
    if isinstance(value, dict):
        return {_key(key, lookup): _member(key, member, lookup) for key, member in value.items()}
    if isinstance(value, list):
        return [exchange(member, lookup) for member in value]
    return value


def mentions_any(message: bytes, known: Mapping[str, Any]) -> bool:
    """Whether any id in `known` occurs at all; a message without one needs no decoding."""
    return any(match.group().decode() in known for match in _UUID.finditer(message))


def exchange_thread_id(line: bytes, old: str, new: str) -> bytes:
    """A notification's own `threadId`, exchanged without decoding the rest.

    Inside a JSON string the quotes would be escaped, so these bytes can only be a member; the first one is the notification's own.
    """
    return line.replace(b'"threadId":"%b"' % old.encode(), b'"threadId":"%b"' % new.encode(), 1)


def hide_rollout_path(thread: Any, provider_thread_id: str) -> Any:
    """A thread object without the path of a rollout that is named after a provider thread."""
    if isinstance(thread, dict) and provider_thread_id in str(thread.get("path") or ""):
        return {**thread, "path": None}
    return thread


def hide_rollout_paths(message: bytes, lookup: Lookup) -> bytes:
    """A message without the paths of rollouts that are named after another thread than the one clients know."""

    def shown(found: re.Match[bytes]) -> bytes:
        provider_id = found[1].decode()
        return found[0] if lookup(provider_id) in (None, provider_id) else b'"path":null'

    return _ROLLOUT_PATH.sub(shown, message)


def exchange_in_prose(error: bytes, lookup: Lookup) -> bytes:
    """Codex's own error object with stable ids in its text: unlike what people write, it speaks of threads by id."""
    return _UUID.sub(lambda found: (lookup(found[0].decode()) or found[0].decode()).encode(), error)


def exchange_encoded(message: bytes, lookup: Lookup) -> bytes:
    """`exchange` over JSON text."""
    return msgspec.json.encode(exchange(msgspec.json.decode(message), lookup))


def _member(name: str, member: Any, lookup: Lookup) -> Any:
    if name in CONTENT_MEMBERS and not isinstance(member, dict | list):
        return member
    if name in ID_MEMBERS:
        if isinstance(member, str):
            return lookup(member) or member
        if isinstance(member, list) and all(isinstance(entry, str) for entry in member):
            return [lookup(entry) or entry for entry in member]
    return member if name in CONTENT_MEMBERS else exchange(member, lookup)


def _key(name: str, lookup: Lookup) -> str:
    """Some maps are keyed by thread id (`agentsStates`)."""
    return lookup(name) or name if len(name) == 36 else name
