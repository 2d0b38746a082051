"""Descriptions of the wire, generated from `methods`: `json_schema` (can be imported from here),
`reference` for the page docs/protocol.md, `typescript` for the types of the web page.
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
