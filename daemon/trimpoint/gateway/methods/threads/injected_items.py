"""Reads the items of `thread/inject_items`, and limits how many there may be.

All items of a request are one record of the journal. Recording it, and estimating its tokens, is
done in one go, which must not keep other clients waiting.
"""

from typing import Final

import msgspec
from anyio.lowlevel import checkpoint
from msgspec import Raw
from trimpoint_protocol import jsonrpc
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.jsonrpc.nesting import Extent, measure

from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.gateway.session.requests.request import ClientRequest
from trimpoint.gateway.session.requests.sizes import CHECKED_BYTES

MAX_ITEMS: Final = 2_000
MAX_ITEMS_BYTES: Final = 8 * 1024 * 1024
"""The size of all items, in bytes of JSON. It is more text than any model reads."""

MAX_ITEMS_VALUES: Final = 30_000
"""Commas and opening brackets in all items. An item of text has about seven."""

_decode_items = msgspec.json.Decoder(list[Raw]).decode


async def read_items(client_request: ClientRequest) -> list[bytes]:
    """Returns the items that a request injects, as JSON.

    :raises Refusal: when there are more than are recorded at once.
    """
    text = client_request.members().get("items", Raw(b"[]"))
    if len(text) > MAX_ITEMS_BYTES:
        raise _too_large(f"{MAX_ITEMS_BYTES:,} bytes of items", len(text))
    if len(text) > CHECKED_BYTES:
        values = (await _measured(bytes(text))).values
        if values > MAX_ITEMS_VALUES:
            raise _too_large(f"{MAX_ITEMS_VALUES:,} values in its items")
    items = _decode_items(text)
    if len(items) > MAX_ITEMS:
        raise _too_large(f"{MAX_ITEMS:,} items", len(items))
    await client_request.let_others_on()
    return [bytes(item) for item in items]


async def _measured(text: bytes) -> Extent:
    steps = measure(text, MAX_ITEMS_VALUES, jsonrpc.MAX_ESCAPES)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            extent: Extent = end.value
            return extent
        await checkpoint()


def _too_large(limit: str, given: int | None = None) -> Refusal:
    problem = f"thread/inject_items takes at most {limit}"
    problem += f", not {given:,}." if given is not None else "."
    return Refusal(Reason.MESSAGE_TOO_LARGE, problem, "Inject them in several requests.")
