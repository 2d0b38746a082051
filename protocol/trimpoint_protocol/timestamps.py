"""The format of times on the wire: RFC 3339 in UTC with milliseconds,
`2026-01-31T09:05:00.250Z`.
"""

from typing import Annotated

import msgspec

__all__ = [
    "Timestamp",
]

Timestamp = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
