"""JSON as an editor reads it."""

from typing import Any

import msgspec

Json = dict[str, Any]


def as_json(value: Any) -> Any:
    return msgspec.json.decode(msgspec.json.encode(value))
