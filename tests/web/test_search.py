"""Search in the page, over whole threads, also in what has left the context."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from trimpoint.testkit import run, say

from tests.web.browser import expected, needs_browser, until_counted
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_search_finds_what_is_hidden_and_opens_it_by_keys(stage: Stage) -> None:
    first = await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.turns("three?|pear-3.")
    keys, hits = stage.page.keyboard, stage.page.locator(".hits button")
    await keys.press("Control+f")
    await keys.type("PEA")
    await until_counted(hits, 2)
    await until_counted(hits.locator("mark"), 2)
    await stage.page.get_by_label("Pruned only").check()
    await until_counted(hits, 1)
    await stage.page.get_by_label("Words to search for").press("Enter")
    found = stage.page.locator(".is-trimmed.is-found").get_by_text("pear-2.", exact=True)
    await found.wait_for()
    await found.evaluate(IN_SIGHT)

    await stage.thread()
    await stage.page.locator("textarea").wait_for()
    await keys.press("Control+f")
    await keys.type("apple")
    await stage.page.get_by_role("status").get_by_text("0 hits").wait_for()
    await stage.page.get_by_label("Where to search").select_option("all")
    await until_counted(hits, 1)
    await stage.page.get_by_label("Words to search for").press("ArrowDown")
    await keys.press("Enter")
    await stage.page.wait_for_url(f"**/thread/{first}")
    found = stage.page.locator(".turn.is-trimmed").get_by_text("apple-1.", exact=True)
    await found.wait_for()
    await found.evaluate(IN_SIGHT)


async def test_search_takes_the_words_of_the_command_and_none_where_it_has_none(
    stage: Stage,
) -> None:
    await stage.thread()
    field = stage.page.get_by_label("Words to search for")
    for command, words in (("/search apple", "apple"), ("/search", ""), ("/search pear", "pear")):
        await stage.send(command)
        await expected(field).to_have_value(words)
    await stage.page.keyboard.press("Control+f")
    await stage.page.keyboard.press("Escape")
    await field.wait_for(state="detached")
    await stage.page.keyboard.press("Control+f")
    await stage.page.keyboard.type("fig")  # what was there is selected
    await expected(field).to_have_value("fig")


async def test_a_hit_opens_the_very_entry_that_has_the_words(stage: Stage) -> None:
    await stage.thread()
    steps = [run(f"echo fruit-{number}") for number in range(4)]
    stage.will_answer(*steps, say("\n\n".join(["much"] * 80)))
    await stage.send("one?")
    await stage.page.get_by_text("much").last.wait_for()
    await stage.idle()
    await stage.turns("two?|pear-2.")
    await stage.page.keyboard.press("Control+f")
    await stage.page.keyboard.type("fruit-2")
    await stage.page.locator(".hits button").first.click()
    found = stage.page.locator(".activity.is-hit")
    await found.locator(".output").get_by_text("fruit-2").wait_for()
    await found.evaluate(IN_SIGHT)
    await until_counted(found, 1)


async def test_a_hit_that_is_not_loaded_is_loaded_first(stage: Stage) -> None:
    def small_pages(message: Any) -> Any:
        if message["method"] == "timeline/read":
            message["params"]["limit"] = 2
        return message

    await altered(stage.page, sent=small_pages)
    await stage.thread()
    await stage.turns("one?|apple-1.", *(f"{count}?|pear-{count}." for count in range(2, 7)))
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.page.reload()
    await stage.page.locator(".divider").wait_for()
    await stage.page.keyboard.press("Control+f")
    await stage.page.keyboard.type("apple")
    await stage.page.locator(".hits button").click()
    found = stage.page.locator(".turn.is-trimmed").get_by_text("apple-1.", exact=True)
    await found.wait_for()
    await found.evaluate(IN_SIGHT)


async def test_a_daemon_that_cannot_search_has_its_thread_searched_by_the_page(
    stage: Stage,
) -> None:
    def without_search(message: Any) -> Any:
        result: Any = message.get("result") or {}
        if "commands" in result:
            result["commands"] = [one for one in result["commands"] if one["name"] != "search"]
        assert "history/search" not in json.dumps(message)
        return message

    await altered(stage.page, received=without_search)
    await stage.thread()
    await stage.turns("one?|apple-1.", "two?|pear-2.")
    await stage.send("/clear 0")
    await stage.page.locator(".divider").wait_for()
    await stage.page.keyboard.press("Control+f")
    await stage.page.keyboard.type("PPL")
    await stage.page.locator(".hits button").click()
    assert await stage.page.get_by_label("Where to search").count() == 0
    await stage.page.locator(".turn.is-trimmed").get_by_text("apple-1.", exact=True).wait_for()


# Resolves once the element is on the screen.
IN_SIGHT = """(element) => new Promise((resolve) => new IntersectionObserver(
    ([change]) => change.isIntersecting && resolve()).observe(element))"""


async def altered(
    page: Any,
    *,
    sent: Callable[[Any], Any] = lambda message: message,
    received: Callable[[Any], Any] = lambda message: message,
) -> None:
    """Registers functions that change the messages that the page sends and receives. Load the page
    afterwards.
    """

    def on_socket(socket: Any) -> None:
        server = socket.connect_to_server()

        def on_sent(text: str) -> None:
            server.send(through(sent, text))

        def on_received(text: str) -> None:
            socket.send(through(received, text))

        socket.on_message(on_sent)
        server.on_message(on_received)

    await page.route_web_socket("**", on_socket)
    await page.reload()


def through(change: Callable[[Any], Any], text: str) -> str:
    return "\n".join(json.dumps(change(json.loads(line))) for line in text.splitlines())
