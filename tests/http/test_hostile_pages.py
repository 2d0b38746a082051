"""Hostile pages in a real Chromium that is logged in: their attempts fail. Needs Debian's
`chromium-headless-shell`, which `scripts/install-test-tools` installs.
"""

import shutil
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import anyio
import pytest
from anyio.abc import SocketStream
from trimpoint.http.access.credentials import Credentials

from tests.deadlines import SCENARIO_S
from tests.http.stage import Stage
from tests.tools import REQUIRED

playwright = pytest.importorskip("playwright.async_api")
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(CHROMIUM is None and not REQUIRED, reason="Chromium is not installed"),
]

ATTACKS = """async (target) => {
    const outcome = {};
    const attempt = async (name, act) => {
        try { outcome[name] = await act(); } catch (error) { outcome[name] = "blocked"; }
    };
    const json = {method: "POST", credentials: "include", headers: {"Content-Type": "application/json"}, body: "{}"};
    const plain = {method: "POST", mode: "no-cors", credentials: "include", body: '{"session_id":"x"}'};
    await attempt("read", async () => (await fetch(target + "/api/v1/threads", {credentials: "include"})).text());
    await attempt("write", async () => (await fetch(target + "/api/v1/commands/help", json)).text());
    await attempt("blind", async () => (await fetch(target + "/api/v1/commands/help", plain)).type);
    await attempt("socket", () => new Promise((resolve, reject) => {
        const socket = new WebSocket(target.replace("http", "ws") + "/rpc");
        socket.onopen = () => resolve("open");
        socket.onerror = () => reject();
    }));
    await attempt("events", () => new Promise((resolve, reject) => {
        const source = new EventSource(target + "/api/v1/threads/x/events", {withCredentials: true});
        source.onopen = () => resolve("open");
        source.onerror = () => reject();
    }));
    await attempt("script", () => new Promise((resolve, reject) => {
        const script = document.createElement("script");
        script.src = target + "/api/v1/threads";
        script.onload = () => resolve("loaded");
        script.onerror = () => reject();
        document.head.append(script);
    }));
    return outcome;
}"""


async def _serve_blank_page(heard: list[bytes], stream: SocketStream) -> None:
    async with stream:
        heard.append(await stream.receive())
        body = b"<!doctype html><title>harmless</title>"
        await stream.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\nConnection: close\r\n\r\n"
            % len(body)
            + body
        )


@asynccontextmanager
async def browser(stage: Stage, heard: list[bytes] | None = None) -> AsyncIterator[tuple[Any, int]]:
    """Yields a context of a logged-in browser, and the port of a server of other pages, at
    127.0.0.1 and evil.example, whose requests are added to `heard`.
    """
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=0)
    port = int(listener.extra(anyio.abc.SocketAttribute.local_port))
    arguments = ["--no-sandbox", "--host-resolver-rules=MAP evil.example 127.0.0.1"]
    with anyio.fail_after(SCENARIO_S):
        async with (
            listener,
            playwright.async_playwright() as started,
            anyio.create_task_group() as tasks,
        ):
            serve = partial(_serve_blank_page, heard if heard is not None else [])
            tasks.start_soon(listener.serve, serve)
            chromium = await started.chromium.launch(executable_path=CHROMIUM, args=arguments)
            context = await chromium.new_context()
            page = await context.new_page()
            # Without the page itself, which would connect.
            login = Credentials(stage.token).new_login(int(time.time()))
            await page.goto(f"http://127.0.0.1:{stage.port}/login")
            await page.evaluate("login => localStorage.setItem('trimpoint-login', login)", login)
            assert await context.cookies() == []
            await page.close()
            yield context, port
            await chromium.close()
            tasks.cancel_scope.cancel()


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
async def test_a_page_of_another_origin_can_neither_read_nor_write(stage: Stage, host: str) -> None:
    async with browser(stage) as (context, port):
        page = await context.new_page()
        await page.goto(f"http://{host}:{port}/")
        outcome = await page.evaluate(ATTACKS, f"http://127.0.0.1:{stage.port}")
    # "opaque" is all that a blind request ever tells; that it was refused is in the tests with raw
    # bytes.
    assert outcome.pop("blind") in ("opaque", "blocked")
    assert set(outcome.values()) == {"blocked"}, outcome
    assert stage.daemon.clients.roster.connected == 0


async def test_a_link_to_another_port_of_this_machine_carries_no_login(stage: Stage) -> None:
    heard: list[bytes] = []
    async with browser(stage, heard) as (context, port):
        page = await context.new_page()
        await page.goto(f"http://127.0.0.1:{stage.port}/login")
        login = await page.evaluate("localStorage.getItem('trimpoint-login')")
        await page.evaluate(
            "url => { const link = document.createElement('a'); link.href = url; link.textContent = 'app';"
            " document.body.append(link); }",
            f"http://127.0.0.1:{port}/app",
        )
        async with page.expect_navigation():
            await page.get_by_role("link", name="app").click()
        # Now the page of the other port tries what it can with the browser of the person.
        assert await page.evaluate("localStorage.getItem('trimpoint-login')") is None
        assert await page.evaluate("document.cookie") == ""
        outcome = await page.evaluate(
            """async (target) => {
                const opened = open(target + "/login");
                await new Promise((done) => setTimeout(done, 500));
                try { return opened.localStorage.getItem("trimpoint-login"); } catch { return "blocked"; }
            }""",
            f"http://127.0.0.1:{stage.port}",
        )
    assert login
    assert outcome in ("blocked", None)
    requests = b"".join(heard).decode().lower()
    assert "get /app" in requests
    assert login.lower() not in requests
    assert "cookie:" not in requests
    assert "referer:" not in requests
    assert "authorization:" not in requests


async def test_a_one_time_address_logs_the_browser_in_and_leaves_no_cookie(stage: Stage) -> None:
    async with browser(stage) as (context, _):
        page = await context.new_page()
        await page.goto(f"http://127.0.0.1:{stage.port}/login")
        await page.evaluate("localStorage.clear()")
        url = stage.daemon.http.addresses.login_url().url
        await page.goto(f"{url}/thread/none")
        await page.wait_for_url(f"http://127.0.0.1:{stage.port}/#/thread/none")
        login = await page.evaluate("localStorage.getItem('trimpoint-login')")
        assert await context.cookies() == []
    answer = await stage.asked("GET", "/api/v1/threads", {"Authorization": f"Bearer {login}"})
    assert answer.status == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1"])
async def test_a_page_of_another_origin_can_send_no_form_and_show_no_frame(
    stage: Stage, host: str
) -> None:
    target = f"http://127.0.0.1:{stage.port}"
    async with browser(stage) as (context, port):
        page = await context.new_page()
        await page.goto(f"http://{host}:{port}/")
        form = f"<form method=post enctype=text/plain action='{target}/api/v1/commands/help'><input name='{{}}'></form>"
        await page.set_content(form)
        async with page.expect_navigation() as navigation:
            await page.evaluate("document.forms[0].submit()")
        assert (await (await navigation.value).json())["reason"] in (
            "foreign_origin",
            "foreign_site",
        )
        await page.goto(f"http://{host}:{port}/")
        await page.evaluate(
            "target => new Promise(done => { const frame = document.createElement('iframe'); frame.src = target;"
            " frame.onload = done; document.body.append(frame); })",
            f"{target}/api/v1/threads",
        )
        shown = [
            await frame.evaluate("document.body ? document.body.innerText : ''")
            for frame in page.frames[1:]
        ]
    assert not any("threads" in text for text in shown), shown


async def test_a_name_that_was_rebound_to_this_machine_reaches_nothing(stage: Stage) -> None:
    async with browser(stage) as (context, _):
        page = await context.new_page()
        for path in ("/api/v1/threads", "/healthz", "/login?code=x", "/"):
            answer = await page.goto(f"http://evil.example:{stage.port}{path}")
            assert answer.status == 421
        outcome = await page.evaluate(ATTACKS, f"http://evil.example:{stage.port}")
    # The refusal's own Content-Security-Policy keeps even its scripts from asking.
    assert set(outcome.values()) <= {"blocked", "opaque"}, outcome
    assert stage.daemon.clients.roster.connected == 0
