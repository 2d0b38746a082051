"""A minimal Starlette app that answers `GET /api/v1/threads` with a prepared body, for
comparison.
"""

import os
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

_body = Path(os.environ["TRIMPOINT_BENCH_BODY"]).read_bytes()


async def _threads(request: Request) -> Response:
    return Response(_body, media_type="application/json")


app = Starlette(routes=[Route("/api/v1/threads", _threads)])
