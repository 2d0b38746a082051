"""What a browser is shown that is not logged in, or no longer: why, and the way in."""

import base64
import hashlib
import html

from trimpoint.http.exchange import Request, Response
from trimpoint.http.problems import Problem

_UNAUTHORIZED = 401
_STYLE = (
    ":root{color-scheme:light dark;background:canvas;color:canvastext}"
    "body{font:1rem/1.6 system-ui,sans-serif;max-width:34rem;margin:18vh auto 0;"
    "padding:0 1.5rem}h1{font-size:1.25rem}code{font-family:ui-monospace,"
    "monospace;background:#8883;border-radius:4px;padding:.1em .35em}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_DIGEST}'; frame-ancestors 'none'"
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>trimpoint: log in</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><style>{style}</style></head>
<body><main><h1>This browser is not logged in</h1>
<p>{why}</p>
<p>Type <code>trimpoint open</code> in a terminal on the machine where trimpoint runs: it opens
this page with a new login. A login ends after 30 days; an address that logs in works once, within
two minutes.</p>
</main></body></html>
"""


def wants_page(request: Request, refusal: Problem) -> bool:
    """Returns whether a person in a browser is who is refused for want of a login."""
    accepted = request.headers.get("accept", "")
    return refusal.status == _UNAUTHORIZED and "text/html" in accepted


def login_page(refusal: Problem) -> Response:
    """Returns a refusal as a page."""
    page = _PAGE.format(style=_STYLE, why=html.escape(refusal.detail))
    policy = ("Content-Security-Policy", _POLICY)
    return Response(_UNAUTHORIZED, page.encode(), "text/html; charset=utf-8", (policy,))
