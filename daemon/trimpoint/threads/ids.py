"""Makes ids: UUIDv7 as in Codex, so that ids sort by time. No other module of this package uses
randomness.
"""

import os
import time
import uuid


def new_uuid7() -> str:
    """Returns a new UUIDv7 (RFC 9562): 48 bits of milliseconds, then random bits."""
    milliseconds = time.time_ns() // 1_000_000
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | (0x7 << 76)
    value = value & ~(0x3 << 62) | (0x2 << 62)
    digits = f"{value:032x}"  # four times as fast as by way of a UUID, and each decision has one
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def is_uuid(text: str) -> bool:
    """Returns whether `text` is a UUID in canonical form (lower case), as thread ids are."""
    try:
        return str(uuid.UUID(text)) == text
    except ValueError:
        return False
