"""The faces, each as a parameter."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.faces.stage import Face, chat_face, neovim_face


@pytest.fixture(params=["chat", pytest.param("neovim", marks=pytest.mark.processes)])
async def face(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Face]:
    opened = chat_face() if request.param == "chat" else neovim_face(tmp_path)
    async with opened as ready:
        yield ready
