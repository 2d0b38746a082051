"""Renders the page for a browser that is not logged in, with the reason and how to log in."""

import base64
import hashlib
import html

from trimpoint.http.exchange import Request, Response
from trimpoint.http.problems import NO_TOKEN, Problem

_UNAUTHORIZED = 401
_STYLE = (
    ":root{color-scheme:light dark;--text:#1c1c21;--quiet:#60626c;--line:#e7e7ec;--tint:#f3f3f5;"
    "background:#f8f8f9;color:var(--text)}@media(prefers-color-scheme:dark){:root{--text:#e7e7ec;"
    "--quiet:#a0a2ad;--line:#26262c;--tint:#1e1e23;background:#101013}}"
    "body{font:.9375rem/1.6 Inter,system-ui,sans-serif;min-height:100vh;margin:0;display:grid;"
    "place-items:center}main{box-sizing:border-box;max-width:30rem;margin:1rem;padding:2rem;"
    "background:light-dark(#fff,#141417);border:1px solid var(--line);border-radius:14px}"
    "h1{font-size:1.125rem;margin:0 0 .75rem}p{margin:.75rem 0 0}.quiet{color:var(--quiet)}"
    ".brand{margin:0 0 1.5rem;font-weight:600}code{font:.9em ui-monospace,monospace;"
    "background:var(--tint);border-radius:5px;padding:.15em .4em}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trimpoint: log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body><main><p class="brand">trimpoint</p><h1>This browser is not logged in</h1>{why}
<p>Type <code>trimpoint open</code> in a terminal on the machine where trimpoint runs: it opens
this page with a new login.</p>
<p class="quiet">A login ends after 30 days; an address that logs in works once, within two
minutes.</p>
</main></body></html>
"""


def wants_page(request: Request, refusal: Problem) -> bool:
    """Returns whether the refused client is a browser that lacks a login."""
    accepted = request.headers.get("accept", "")
    return refusal.status == _UNAUTHORIZED and "text/html" in accepted


def login_page(refusal: Problem) -> Response:
    """Returns a refusal as a page."""
    why = "" if refusal.detail == NO_TOKEN else f"<p>{html.escape(refusal.detail)}</p>"
    page = _PAGE.format(style=_STYLE, why=why)
    policy = ("Content-Security-Policy", _POLICY)
    return Response(_UNAUTHORIZED, page.encode(), "text/html; charset=utf-8", (policy,))
