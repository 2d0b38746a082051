"""Translates a prompt's content blocks to Codex's input."""

from base64 import b64decode
from typing import Any

from trimpoint_protocol.lenient import Json, as_dict, as_text

Input = list[dict[str, Any]]


class BadPrompt(Exception):
    """Raised for a prompt that cannot be accepted; the text says why."""


def typed_text(blocks: list[Json]) -> str:
    """Returns the text blocks of a prompt, joined by line feeds; attachments are left out."""
    texts = [as_text(block.get("text")) for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if text.strip())


def has_attachments(blocks: list[Json]) -> bool:
    """Returns whether a prompt contains anything but text."""
    return any(block.get("type") != "text" for block in blocks)


def input_of(blocks: list[Json]) -> Input:
    """Returns the input for `turn/start`.

    :raises BadPrompt: when the prompt is empty, or has a kind of block that the agent does not
        support.
    """
    parts = [part for block in blocks for part in _parts(block)]
    if not parts:
        raise BadPrompt("The prompt is empty.")
    return parts


def _parts(block: Json) -> Input:
    match block.get("type"):
        case "text":
            text = as_text(block.get("text"))
            return [_text(text)] if text.strip() else []
        case "image":
            # Its data, never its uri: Codex cannot read what only the editor can.
            return [_image(as_text(block.get("mimeType")) or "image/png", block.get("data"))]
        case "resource_link":
            return [_text(_link(as_text(block.get("name")), as_text(block.get("uri"))))]
        case "resource":
            return _resource(as_dict(block.get("resource")))
        case other:
            raise BadPrompt(
                f"A prompt cannot contain a block of the type {other!r}; "
                "it may contain text, image, resource_link and resource."
            )


def _resource(resource: Json) -> Input:
    uri = as_text(resource.get("uri"))
    name = uri.rstrip("/").rpartition("/")[2] or uri
    text = resource.get("text")
    if isinstance(text, str):
        return [_text(f'{_link(name, uri)}\n<context ref="{uri}">\n{text}\n</context>')]
    mime_type = as_text(resource.get("mimeType"))
    if mime_type.startswith("image/") and isinstance(blob := resource.get("blob"), str):
        return [_image(mime_type, blob)]
    return [_text(_link(name, uri))]


def _image(mime_type: str, data: object) -> dict[str, Any]:
    """Returns an image as Codex takes it; the provider would refuse all later turns for another.

    :raises BadPrompt: when it is no image, or its data are not base64.
    """
    if not mime_type.startswith("image/"):
        raise BadPrompt(f"An image cannot be of the type {mime_type!r}.")
    try:
        is_there = bool(b64decode(as_text(data), validate=True))
    except ValueError:
        is_there = False
    if not is_there:
        raise BadPrompt("The data of an image are not base64.")
    return {"type": "image", "url": f"data:{mime_type};base64,{data}"}


def _link(name: str, uri: str) -> str:
    return f"[@{name or uri}]({uri})"


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}
