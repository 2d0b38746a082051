"""`trimpoint daemon token`, and `app-server` as Codex's desktop app runs it over SSH."""

import json
import re
import signal
import stat

import anyio
import anyio.streams.stapled
import pytest

from tests.cli.stage import CODEX, CliHarness
from tests.deadlines import STEP_S
from tests.http.frames import masked, message
from tests.http.stage import UPGRADE, Wire

pytestmark = pytest.mark.codex
INITIALIZE = {
    "id": 1,
    "method": "initialize",
    "params": {"clientInfo": {"name": "far", "version": "1"}},
}


async def test_the_token_is_printed_without_a_daemon_and_can_be_made_anew(
    stage: CliHarness,
) -> None:
    first = await stage.run("token")
    assert (first.code, len(first.out.strip())) == (0, 43)
    assert json.loads((await stage.run("token", "--json")).out) == {"token": first.out.strip()}
    assert (await stage.run("token", "--new")).out not in ("", first.out)
    (stage.state_dir / "http-token").write_text("")
    refused = await stage.run("token")
    assert refused.code == 1
    assert "holds no token" in refused.err
    (stage.state_dir / "http-token").unlink()
    (stage.state_dir / "http-token").symlink_to("elsewhere")
    assert (await stage.run("token")).code == 1


async def test_a_daemon_without_http_says_how_to_have_it(stage: CliHarness) -> None:
    async with stage.serving():
        refused = await stage.run("token", "--url")
    assert refused.code == 1
    assert "does not serve HTTP over TCP" in refused.err
    assert "[http]" in refused.err


async def test_open_starts_a_daemon_that_serves_the_page_and_prints_where(
    stage: CliHarness,
) -> None:
    opened = await stage.run("open", "--print")
    assert opened.code == 0, opened.err
    assert "once, within two minutes" in opened.err
    told = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/login#code=[\w-]+/in/\S+", opened.out.strip())
    assert told is not None
    again = json.loads((await stage.run("open", "--json")).out)["url"]
    assert again.startswith(f"http://127.0.0.1:{told[1]}/login#code=")
    assert again != opened.out.strip()
    async with await anyio.connect_tcp("127.0.0.1", int(told[1])) as stream:
        wire, host = Wire(stream), {"Host": f"127.0.0.1:{told[1]}"}
        login = await wire.ask("POST", "/login", {**host, **JSON}, code_in(again))
        assert login.status == 200
        page = await wire.ask("GET", "/", host)
        assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert (await stage.run("shutdown")).code == 0
    # Pages that are still open look for the daemon where it was.
    anew = (await stage.run("open", "--print")).out
    assert anew.startswith(f"http://127.0.0.1:{told[1]}/")
    assert (await stage.run("shutdown")).code == 0


async def test_open_gives_the_browser_no_code_on_its_command_line(stage: CliHarness) -> None:
    browser, told = stage.folder / "browser", stage.folder / "told"
    browser.write_text(f'#!/bin/sh\necho "$@" > {told}\n')
    browser.chmod(0o755)
    clean = {"SSH_CONNECTION": "", "SSH_TTY": "", "BROWSER": f"{browser} %s"}
    opened = await stage.run("open", **clean)
    assert (opened.code, "code=" in opened.out + opened.err) == (0, False), opened.err
    assert (await stage.run("shutdown")).code == 0
    given = told.read_text().strip()
    file = stage.folder / given.removeprefix("file://")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert re.search(
        r'content="0;url=http://127\.0\.0\.1:\d+/login#code=[\w-]+/in/[^"]+"', file.read_text()
    )


JSON = {"Content-Type": "application/json"}


def code_in(url: str) -> bytes:
    """Returns the body of the request that logs in with the code of an address."""
    return json.dumps({"code": url.partition("#code=")[2].partition("/")[0]}).encode()


async def home_of_page(url: str) -> str:
    """Returns the `CODEX_HOME` of the Codex that a page of this login uses."""
    host = url.removeprefix("http://").partition("/")[0]
    address, _, port = host.partition(":")
    async with await anyio.connect_tcp(address, int(port)) as stream:
        login = await Wire(stream).ask("POST", "/login", {"Host": host, **JSON}, code_in(url))
    protocol = f"trimpoint.login.{login.json()['login']}"
    async with await anyio.connect_tcp(address, int(port)) as stream:
        wire = Wire(stream)
        headers = {**UPGRADE, "Host": host, "Sec-WebSocket-Protocol": protocol}
        assert (await wire.ask("GET", "/rpc", headers)).status == 101
        await stream.send(masked(json.dumps(INITIALIZE).encode()))
        with anyio.fail_after(STEP_S):
            return str((await message(wire))["result"]["codexHome"])


async def test_a_page_uses_the_home_of_the_person_who_opened_it(stage: CliHarness) -> None:
    usual = str(stage.folder / "home" / ".codex")
    homes: list[str] = []
    for named in ("", str(stage.codex_home)):
        opened = await stage.run("open", "--print", CODEX_HOME=named)
        assert opened.code == 0, opened.err
        assert "home" not in opened.err
        homes.append(await home_of_page(opened.out.strip()))
    assert homes == [usual, str(stage.codex_home)]
    assert (await stage.run("shutdown")).code == 0


async def test_a_page_of_a_daemon_served_by_hand_uses_its_home_and_says_so(
    stage: CliHarness,
) -> None:
    stage.configure('[http]\nlisten = "127.0.0.1:0"\n')
    other = stage.folder / "other"
    other.mkdir()
    async with stage.serving():
        opened = await stage.run("open", "--print", CODEX_HOME=str(other))
        assert await home_of_page(opened.out.strip()) == str(stage.codex_home)
    said = opened.err.replace("\n", "").replace(" ", "")
    assert f"usestheCodexhome{stage.codex_home}" in said
    assert "notyourCODEX_HOME" in said


async def test_app_server_listens_where_codex_would(stage: CliHarness) -> None:
    async with stage.running(*stage.flags, "app-server", "--listen", "ws://127.0.0.1:0") as command:
        await command.said("HTTP and WebSocket at")
        told = re.search(r"http://127\.0\.0\.1:(\d+)", command.out)
        assert told is not None
        token = (await stage.run("token")).out.strip()
        async with await anyio.connect_tcp("127.0.0.1", int(told[1])) as stream:
            wire = Wire(stream)
            assert (
                await wire.ask("GET", "/", {**UPGRADE, "Authorization": f"Bearer {token}"})
            ).status == 101
            await stream.send(masked(json.dumps(INITIALIZE).encode()))
            with anyio.fail_after(STEP_S):
                assert (await message(wire))["result"]["userAgent"].startswith("far/")
        url = (await stage.run("token", "--url")).out.strip()
        assert re.fullmatch(rf"http://127\.0\.0\.1:{told[1]}/login#code=[\w-]+", url)
        command.process.send_signal(signal.SIGTERM)
        assert await command.ended() == 0


async def test_a_desktop_app_reaches_a_thread_through_the_proxy(stage: CliHarness) -> None:
    """The start over SSH: a server at Codex's control socket, then a relay to it, and WebSocket
    over that.
    """
    folder = stage.codex_home / "app-server-control"
    async with stage.running(*stage.flags, "app-server", "--listen", "unix://") as server:
        await server.said("listens on")
        control = folder / "app-server-control.sock"
        assert control.is_socket()
        assert (folder.stat().st_mode & 0o777, control.stat().st_mode & 0o777) == (0o700, 0o600)
        asked = await anyio.run_process(
            [str(CODEX), "app-server", "daemon", "version"], env=stage.environment, check=False
        )
        assert json.loads(asked.stdout)["status"] == "running", asked
        ours = await stage.run("app-server", "daemon", "version")
        assert json.loads(ours.out)["status"] == "running"
        for words in (["proxy"], ["proxy", "--sock", str(control)], ["proxy", f"--sock={control}"]):
            command = stage.command("app-server", *words)
            async with await anyio.open_process(
                command, env=stage.environment, stderr=None
            ) as proxy:
                assert proxy.stdin is not None
                assert proxy.stdout is not None
                wire = Wire(anyio.streams.stapled.StapledByteStream(proxy.stdin, proxy.stdout))
                with anyio.fail_after(STEP_S):
                    assert (await wire.ask("GET", "/rpc", UPGRADE)).status == 101
                    await wire.stream.send(masked(json.dumps(INITIALIZE).encode()))
                    assert (await message(wire))["id"] == 1
                    await proxy.stdin.aclose()
                    assert await proxy.wait() == 0
        server.process.send_signal(signal.SIGTERM)
        assert await server.ended() == 0
    assert not control.exists()


async def test_a_proxy_without_a_server_says_so(stage: CliHarness) -> None:
    done = await stage.run("app-server", "proxy")
    assert done.code == 4
    assert "No app-server answers at" in done.err
