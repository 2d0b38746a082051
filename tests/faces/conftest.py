"""The faces, each as a parameter."""

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from tests.faces.page import page_face
from tests.faces.stage import Face, chat_face, neovim_face
from tests.web.browser import needs_browser

CHAT = "chat"
NEOVIM = pytest.param("neovim", marks=pytest.mark.processes)
PAGE = pytest.param("page", marks=[pytest.mark.processes, pytest.mark.codex, needs_browser])


def _opened(name: str, folder: Path) -> AbstractAsyncContextManager[Face]:
    if name == "neovim":
        return neovim_face(folder)
    return page_face() if name == "page" else chat_face()


@pytest.fixture(params=[CHAT, NEOVIM, PAGE])
async def face(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Face]:
    async with _opened(request.param, tmp_path) as ready:
        yield ready


@pytest.fixture(params=[CHAT, NEOVIM])
async def face_with_one_thread(
    request: pytest.FixtureRequest, tmp_path: Path
) -> AsyncIterator[Face]:
    """Yields a face that shows no list of threads beside the one that is open."""
    async with _opened(request.param, tmp_path) as ready:
        yield ready
