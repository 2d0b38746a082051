"""`python -m tests.core.write_golden`: adds the forms of events that are new or have new fields.
Existing forms are not changed.
"""

import json
import sys
from pathlib import Path
from typing import Any

import msgspec
from trimpoint.core.model import events as ev

from tests.core.samples import SAMPLES

PATH = Path(__file__).parent / "golden" / "events.json"


class Golden(msgspec.Struct):
    """Hexadecimal msgpack: records as written by each version, and the event with only its required
    fields.
    """

    written: list[str]
    bare: str


def read_golden() -> dict[str, Golden]:
    return msgspec.json.decode(PATH.read_bytes(), type=dict[str, Golden]) if PATH.exists() else {}


def record_of(event: ev.AnyEvent) -> ev.Record:
    return ev.Record(
        70_000, 300, 1_764_000_000_250, (event,), "command", b"fingerprint", "operation", "alice"
    )


def bare_event(event: ev.AnyEvent) -> ev.AnyEvent:
    """Returns `event` with the default in each field that has one."""
    optional = {f.name: f.default for f in msgspec.structs.fields(event) if not f.required}
    return msgspec.structs.replace(event, **optional)


def tag_of(event: ev.AnyEvent) -> str:
    return str(event.__struct_config__.tag)


def _pinned(event: ev.AnyEvent, known: Golden | None) -> Golden:
    written = msgspec.msgpack.encode(record_of(event)).hex()
    bare = msgspec.msgpack.encode(bare_event(event)).hex()
    if known is None:
        return Golden([written], bare)
    if known.written[-1] == written and known.bare == bare:
        return known
    old, new = _arrays(known.bare), _arrays(bare)
    if new[: len(old)] != old:
        sys.exit(
            f"{tag_of(event)} no longer means what journals say: it was {old} and would be {new}"
        )
    return Golden([*known.written, written], bare)


def _arrays(packed: str) -> list[Any]:
    return msgspec.msgpack.decode(bytes.fromhex(packed), type=list[Any])


def main() -> None:
    golden = read_golden()
    pinned = {tag_of(event): _pinned(event, golden.get(tag_of(event))) for event in SAMPLES}
    PATH.write_text(json.dumps(msgspec.to_builtins(golden | pinned), indent=2) + "\n")


if __name__ == "__main__":
    main()
