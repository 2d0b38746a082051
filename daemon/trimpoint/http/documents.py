"""The documents as plain pages below `/docs/`: no script, and nothing from another host."""

import base64
import hashlib
import re
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING

from trimpoint.documents import INDEX, file_of, text_of
from trimpoint.http.exchange import Request, Response

if TYPE_CHECKING:
    from markdown_it.token import Token

PREFIX = "/docs/"

_STYLE = (
    ":root{color-scheme:light dark;--line:#d9dce1;--tint:#f2f4f7}"
    "@media(prefers-color-scheme:dark){:root{--line:#383d45;--tint:#20242a}}"
    "body{font:16px/1.55 system-ui,sans-serif;margin:0 auto;max-width:50rem;"
    "padding:2rem 1rem 4rem;overflow-wrap:anywhere}h1,h2,h3{line-height:1.25}"
    "pre{background:var(--tint);border-radius:.4rem;overflow:auto;padding:.6rem .8rem}"
    "pre,code{font-family:ui-monospace,monospace;font-size:.9em}"
    "table{border-collapse:collapse}td,th{border:1px solid var(--line);padding:.25rem .5rem;"
    "text-align:left;vertical-align:top}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_DIGEST}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_NO_WORD = re.compile(r"[^\w\- ]")
# What only the repository shows: pictures, and notes for its tests.
_OF_REPOSITORY = re.compile(r"<picture>.*?</picture>|<!--.*?-->|^!\[.*?\]\(.*?\)$", re.S | re.M)


def document(request: Request) -> Response | None:
    """Returns the response for a page of the documents; None for any other request."""
    if request.method not in ("GET", "HEAD") or not request.path.startswith(PREFIX):
        return None
    text = text_of(request.path.removeprefix(PREFIX) or INDEX)
    if text is None:
        return None
    policy = ("Content-Security-Policy", _POLICY)
    return Response(200, _page(text).encode(), "text/html; charset=utf-8", (policy,))


def _page(text: str) -> str:
    # The parser is read into memory only by a daemon that shows a page.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(_OF_REPOSITORY.sub("", text))
    for opening, content in pairwise(tokens):
        if opening.type == "heading_open":
            opening.attrSet("id", _anchor(content.content))
        for token in opening.children or ():
            _keep_inside(token)
    title = next((token.content for token in tokens if token.type == "inline"), "trimpoint")
    return (
        f'<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style>\n"
        f'<p><a href="{PREFIX}">All documents</a></p>\n'
        f"{parser.renderer.render(tokens, parser.options, {})}</html>\n"
    )


def _keep_inside(token: "Token") -> None:
    """Takes the address from a link to a page that is in the repository alone."""
    target = str(token.attrGet("href") or "")
    name, _, _ = target.partition("#")
    if name and "://" not in name and file_of(name) is None:
        del token.attrs["href"]


def _anchor(heading: str) -> str:
    """Returns the anchor of a heading as the repository's host makes it."""
    return _NO_WORD.sub("", heading.lower()).replace(" ", "-")
