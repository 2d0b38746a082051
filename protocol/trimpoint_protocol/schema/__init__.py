"""What is on the wire, for people and programs, made from `methods`: `json_schema` (can be had from
here), `reference` the page docs/protocol.md, `typescript` the types of the page's code.
"""

from trimpoint_protocol.schema.json_schema import (
    DIALECT,
    REFERENCE,
    Payloads,
    Schema,
    commands,
    components,
    documents,
    encode,
    errors,
    events,
    methods,
    notifications,
    prose,
    records,
)

__all__ = [
    "DIALECT",
    "REFERENCE",
    "Payloads",
    "Schema",
    "commands",
    "components",
    "documents",
    "encode",
    "errors",
    "events",
    "methods",
    "notifications",
    "prose",
    "records",
]
