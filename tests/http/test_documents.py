"""The documents as the daemon serves them: every page, its links, and nothing else."""

import re
from functools import cache
from pathlib import Path

import pytest
from trimpoint.documents import folder, text_of
from trimpoint.http.documents import PREFIX, document
from trimpoint.http.exchange import Request

from tests.http.stage import Stage

PAGES = sorted(page.name for page in folder().glob("*.md"))


@cache
def page(name: str) -> str:
    response = document(Request("GET", PREFIX + name, {}))
    assert response is not None, name
    return response.body.decode()


@pytest.mark.parametrize("name", PAGES)
def test_each_link_of_a_page_leads_to_a_page_and_a_heading_that_exist(name: str) -> None:
    shown = page(name)
    assert "<h1" in shown
    assert not re.search(r"<script|<img|<!--", shown)
    for link in re.findall(r'href="([^"]+)"', shown):
        target, _, anchor = link.partition("#")
        if "://" in link or link == PREFIX:
            continue
        assert not anchor or f'id="{anchor}"' in page(target or name), link


def test_the_first_page_lists_the_others() -> None:
    assert 'href="first-trim.md"' in page("")


@pytest.mark.parametrize("name", ["nothing", "../README", "spec/README", "img", "a\0b", "%2e%2e"])
def test_what_is_no_page_is_not_answered(name: str) -> None:
    assert document(Request("GET", PREFIX + name, {})) is None
    assert text_of(name) is None


def test_nothing_is_read_outside_of_the_folder() -> None:
    assert Path(folder(), "..", "README.md").exists()
    assert document(Request("POST", PREFIX, {})) is None


async def test_a_browser_needs_no_login_for_them(stage: Stage) -> None:
    async with stage.tcp() as wire:
        answer = await wire.ask(
            "GET", f"{PREFIX}first-trim.md", {"Host": f"127.0.0.1:{stage.port}"}
        )
    assert (answer.status, b"<h1" in answer.body) == (200, True)
