"""The documents that the daemon serves, opened from the page."""

import pytest

from tests.web.browser import needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]

LINKS = "links => links.map((link) => link.href)"
HEADINGS = "all => all.map((one) => one.id)"


async def test_the_question_mark_opens_the_documents_and_none_of_their_links_is_dead(
    stage: Stage,
) -> None:
    async with stage.page.context.expect_page() as opening:
        await stage.page.get_by_role("link", name="Documents").click()
    documents = await opening.value
    await documents.get_by_role("heading", name="Documents").wait_for()
    index = documents.url
    linked, headings, waiting = set[tuple[str, str]](), dict[str, set[str]](), {index}
    while waiting:
        address = waiting.pop()
        answer = await documents.goto(address)
        assert answer.status == 200, address
        headings[address] = set(await documents.eval_on_selector_all("[id]", HEADINGS))
        for link in await documents.eval_on_selector_all("a[href]", LINKS):
            if link.startswith(index):
                place, _, heading = link.partition("#")
                linked.add((place, heading))
        waiting |= {place for place, _ in linked} - headings.keys()
    assert len(headings) > 20
    assert [(place, it) for place, it in linked if it and it not in headings[place]] == []
    assert not stage.page.faults
