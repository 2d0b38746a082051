"""What the agent has read is no longer in the prompt."""

import json
from typing import Any

import anyio
import pytest
from trimpoint.testkit import hang

from tests.web.browser import expected, needs_browser
from tests.web.stage import Stage

pytestmark = [pytest.mark.processes, pytest.mark.codex, needs_browser]


async def test_what_the_agent_has_read_does_not_come_back_though_the_answer_was_late(
    stage: Stage,
) -> None:
    box = stage.page.locator("textarea")
    asked: dict[str, Any] = {}
    read, held = list[str](), list[str]()

    def on_socket(socket: Any) -> None:
        server = socket.connect_to_server()

        def on_sent(text: str) -> None:
            for line in text.splitlines():
                message: Any = json.loads(line)
                if message["method"] == "turn/steer":
                    asked.update(message)
            server.send(text)

        def on_received(text: str) -> None:
            for line in text.splitlines():
                message: Any = json.loads(line)
                if asked and message.get("id") == asked["id"] and not read:
                    held.append(line)
                    continue
                socket.send(line)
                item: Any = message.get("params", {}).get("item") or {}
                is_steered = (
                    asked and item.get("clientId") == asked["params"]["clientUserMessageId"]
                )
                if is_steered and message["method"] == "item/completed":
                    read.append(item["id"])
                    for late in held:
                        socket.send(late)

        socket.on_message(on_sent)
        server.on_message(on_received)

    await stage.page.route_web_socket("**", on_socket)
    await stage.page.reload()
    await stage.thread()
    ended = anyio.Event()
    stage.will_answer(hang("Working."), hang("Steered.", until=ended))
    await stage.send("one?")
    await stage.page.locator(".main").get_by_text("Working.", exact=True).wait_for()
    await stage.send("also this")
    await stage.page.locator(".main").get_by_text("Steered.", exact=True).wait_for()
    await expected(box).to_have_value("")
    ended.set()
    await stage.idle()
    assert read
    await box.press_sequentially("more")
    await expected(box).to_have_value("more")
