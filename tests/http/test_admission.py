"""Which requests over TCP are answered, row by row, in raw bytes."""

import json
import re
import time
from pathlib import Path
from typing import Literal

import pytest
from structlog.testing import capture_logs
from trimpoint.http.access.admission import TcpAdmission
from trimpoint.http.access.credentials import Credentials, Login
from trimpoint.http.access.token_file import renew_token
from trimpoint.http.exchange import Request
from trimpoint.transport.peer_process import Distrust

from tests.http.stage import UPGRADE, Answer, Stage, staged

EVIL = "http://evil.example"


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "127.0.0.1:9", "[::1]:80", "LOCALHOST:1", "trim.example"]
)
async def test_the_names_of_this_machine_are_answered(stage: Stage, host: str) -> None:
    assert (await stage.asked("GET", "/api/v1/threads", {"Host": host})).status == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.:80", "0.0.0.0", "::1", "a:b:1"]
)
@pytest.mark.parametrize("path", ["/api/v1/threads", "/healthz", "/login?code=x", "/metrics"])
async def test_a_name_that_was_rebound_to_this_machine_is_refused_on_every_path(
    stage: Stage, host: str, path: str
) -> None:
    answer = await stage.asked("GET", path, {"Host": host})
    assert (answer.status, answer.json()["reason"]) == (421, "wrong_host")


async def test_a_request_without_a_host_is_refused(stage: Stage) -> None:
    assert (await stage.asked("GET", "/healthz", {"Host": ""})).status == 400
    async with stage.tcp() as wire:
        await wire.stream.send(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert (await wire.answer()).status == 421


@pytest.mark.parametrize(
    "origin",
    [EVIL, "null", "http://localhost:1", "https://localhost", "vscode-webview://x", "file://"],
)
@pytest.mark.parametrize("path", ["/rpc", "/api/v1/threads", "/healthz"])
async def test_a_page_of_another_origin_is_refused(stage: Stage, origin: str, path: str) -> None:
    headers = {"Origin": origin, **(UPGRADE if path == "/rpc" else {})}
    answer = await stage.asked("GET", path, headers)
    assert (answer.status, answer.json()["reason"]) == (403, "foreign_origin")


async def test_a_page_of_our_own_origin_is_answered(stage: Stage) -> None:
    for host, origin in (
        ("localhost:7", "http://localhost:7"),
        ("trim.example", "https://trim.example"),
    ):
        answer = await stage.asked("GET", "/rpc", {"Host": host, "Origin": origin, **UPGRADE})
        assert answer.status == 101


@pytest.mark.parametrize(
    ("site", "status"),
    [("cross-site", 403), ("same-site", 403), ("same-origin", 200), ("none", 200)],
)
async def test_a_post_from_another_site_is_refused(stage: Stage, site: str, status: int) -> None:
    async with stage.tcp() as wire:
        headers = {**stage.bearer, "Sec-Fetch-Site": site, "Content-Type": "application/json"}
        answer = await wire.ask("POST", "/api/v1/commands/help", headers, b"{}")
    assert answer.status == status


@pytest.mark.parametrize(
    "authorization",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Basic {token}",
        "{token}",
        "Bearer {token}x",
        "Bearer {token} {token}",
    ],
)
@pytest.mark.parametrize("path", ["/rpc", "/", "/api/v1/threads", "/metrics", "/nothing"])
async def test_without_the_token_nothing_is_answered(
    stage: Stage, authorization: str, path: str
) -> None:
    headers = {
        "Authorization": authorization.format(token=stage.token),
        **(UPGRADE if path in ("/rpc", "/") else {}),
    }
    answer = await stage.asked("GET", path, headers)
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert stage.token not in answer.body.decode()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
async def test_the_token_opens_everything(stage: Stage, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {stage.token}"}
    assert (await stage.asked("GET", "/api/v1/threads", headers)).status == 200
    assert (await stage.asked("GET", "/", {**headers, **UPGRADE})).status == 101
    assert (await stage.asked("GET", "/metrics", headers)).body.startswith(b"# HELP")


async def test_a_token_in_the_query_opens_nothing(stage: Stage) -> None:
    async with stage.tcp() as wire:
        assert (await wire.ask("GET", f"/api/v1/threads?token={stage.token}")).status == 401


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_health_is_served_without_a_token_and_without_content(
    stage: Stage, path: str
) -> None:
    async with stage.tcp() as wire:
        answer = await wire.ask("GET", path)
    assert (answer.status, answer.body) == (200, b"")


async def test_every_answer_carries_the_headers_that_keep_browsers_away(stage: Stage) -> None:
    for path in ("/healthz", "/api/v1/threads", "/nothing", "/api/v1/threads/none"):
        headers = (await stage.asked("GET", path)).headers
        assert headers["content-security-policy"].startswith(
            "default-src 'none'; frame-ancestors 'none'"
        )
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cache-control"] == "no-store"


JSON = {"Content-Type": "application/json"}


async def logged_in(stage: Stage, code: str, **headers: str) -> Answer:
    async with stage.tcp() as wire:
        body = json.dumps({"code": code}).encode()
        return await wire.ask("POST", "/login", {**JSON, **headers}, body)


class TestLogin:
    async def test_a_one_time_code_is_swapped_for_a_login_that_is_no_cookie(
        self, stage: Stage
    ) -> None:
        address, _, code = stage.daemon.http.addresses.login_url().url.partition("#code=")
        assert address == f"http://127.0.0.1:{stage.port}/login"
        answer = await logged_in(stage, code)
        assert (answer.status, "set-cookie" in answer.headers) == (200, False)
        login = answer.json()["login"]
        assert stage.token not in login
        bearer = {"Authorization": f"Bearer {login}"}
        assert (await stage.asked("GET", "/api/v1/threads", bearer)).status == 200
        offered = {"Sec-WebSocket-Protocol": f"trimpoint.lines, trimpoint.login.{login}"}
        upgrade = {"Authorization": "", **UPGRADE, **offered, "Origin": "http://localhost"}
        opened = await stage.asked("GET", "/rpc", upgrade)
        assert (opened.status, opened.headers["sec-websocket-protocol"]) == (101, "trimpoint.lines")
        wrong = {**upgrade, "Sec-WebSocket-Protocol": f"trimpoint.login.{login}x"}
        assert (await stage.asked("GET", "/rpc", wrong)).status == 401

    async def test_a_code_that_was_used_says_so_to_whoever_comes_second(self, stage: Stage) -> None:
        code = stage.daemon.http.addresses.login_url().url.partition("#code=")[2]
        assert (await logged_in(stage, code)).status == 200
        with capture_logs() as logs:
            second = await logged_in(stage, code)
        assert second.status == 401
        assert "was used already, 0 s ago" in second.json()["detail"]
        assert "trimpoint daemon token --new" in second.json()["hint"]
        assert "login_code_used_twice" in [log["event"] for log in logs]

    async def test_an_invented_code_gets_no_login(self, stage: Stage) -> None:
        answer = await logged_in(stage, "invented")
        assert answer.status == 401
        assert "unknown, or has expired" in answer.json()["detail"]

    @pytest.mark.parametrize("method", ["HEAD", "GET"])
    async def test_looking_at_a_one_time_address_uses_no_code_up(
        self, stage: Stage, method: str
    ) -> None:
        code = stage.daemon.http.addresses.login_url().url.partition("#code=")[2]
        async with stage.tcp() as wire:
            assert (await wire.ask(method, f"/login?code={code}")).status == 200
        assert (await logged_in(stage, code)).status == 200

    async def test_a_page_of_another_site_cannot_log_in(self, stage: Stage) -> None:
        code = stage.daemon.http.addresses.login_url().url.partition("#code=")[2]
        for headers in ({"Sec-Fetch-Site": "same-site"}, {"Origin": EVIL}):
            assert (await logged_in(stage, code, **headers)).status == 403
        async with stage.tcp() as wire:
            plain = await wire.ask("POST", "/login", {"Content-Type": "text/plain"}, b"{}")
        assert plain.status == 415

    def test_a_login_says_the_home_that_it_was_made_for_and_no_other(self) -> None:
        credentials = Credentials("t" * 43)
        now_s = int(time.time())
        home = "/home/me/.codex wörk;=."
        mine, plain = (credentials.new_login(now_s, one) for one in (home, None))
        assert read(credentials, mine, now_s) == Login(home)
        assert read(credentials, plain, now_s) == Login(None)
        assert re.fullmatch(r"[\w.-]+", mine)
        expires, encoded, signature = mine.split(".")
        own = plain.partition(".")[2]
        for forged in (
            f"{expires}.{signature}",
            f"{expires}.{encoded}.{own}",
            f"{expires}.L2V0Yw.{signature}",
            f"{encoded}.{expires}.{signature}",
            f"{expires}.{encoded}.",
        ):
            assert read(credentials, forged, now_s) is None
        assert read(credentials, mine, now_s + 31 * 24 * 3600) is None

    @pytest.mark.parametrize("age_s", [0, 31 * 24 * 3600])
    async def test_a_login_ends_with_its_time_and_cannot_be_prolonged(
        self, stage: Stage, age_s: int
    ) -> None:
        credentials = Credentials(stage.token)
        login = credentials.new_login(int(time.time()) - age_s)
        bearer = {"Authorization": f"Bearer {login}"}
        good = await stage.asked("GET", "/api/v1/threads", bearer)
        assert good.status == (401 if age_s else 200)
        expires, _, signature = login.partition(".")
        for forged in (
            f"{int(expires) + 9**9}.{signature}",
            f"{expires}.",
            expires,
            ".",
            f"x.{signature}",
        ):
            assert read(credentials, forged, 0) is None


def read(credentials: Credentials, login: str, now_s: int) -> Login | None:
    return credentials.login_of(Request("GET", "/", {"authorization": f"Bearer {login}"}), now_s)


class TestDistrust:
    """A process that was found to be another than the person's own program."""

    @pytest.fixture
    def credentials(self) -> Credentials:
        return Credentials("t" * 43)

    @pytest.mark.parametrize(
        ("kind", "host", "proof", "path", "status"),
        [
            ("confined", "localhost", "token", "/api/v1/threads", 403),
            ("confined", "localhost", "login", "/api/v1/threads", None),
            ("confined", "localhost", "wrong", "/api/v1/threads", 401),
            ("confined", "localhost", "", "/", None),
            ("user", "localhost", "token", "/api/v1/threads", 403),
            ("user", "localhost", "login", "/api/v1/threads", 403),
            ("user", "localhost", "", "/", 403),
            ("user", "localhost", "", "/login", 403),
            ("user", "localhost", "", "/healthz", None),
            ("user", "trim.example", "token", "/api/v1/threads", None),
            ("user", "trim.example", "login", "/api/v1/threads", None),
            ("user", "trim.example", "", "/api/v1/threads", 401),
        ],
    )
    def test_it_is_refused_where_it_cannot_be_the_persons_browser_or_proxy(
        self,
        credentials: Credentials,
        kind: Literal["confined", "user"],
        host: str,
        proof: str,
        path: str,
        status: int | None,
    ) -> None:
        proofs = {"token": "t" * 43, "login": credentials.new_login(0), "wrong": "x"}
        headers = {"host": host}
        if proof:
            headers["authorization"] = f"Bearer {proofs[proof]}"
        admission = TcpAdmission(
            credentials, frozenset({"trim.example"}), Distrust("why", "hint", kind)
        )
        refusal = admission.refusal(Request("GET", path, headers), 1)
        assert (refusal.status if refusal is not None else None) == status


async def test_another_token_ends_the_old_one_and_all_logins_at_once(tmp_path: Path) -> None:
    async with staged(tmp_path) as stage, stage.tcp() as open_page:
        login = Credentials(stage.token).new_login(int(time.time()))
        offered = {"Sec-WebSocket-Protocol": f"trimpoint.login.{login}"}
        assert (await open_page.ask("GET", "/rpc", {**UPGRADE, **offered})).status == 101
        token = renew_token(stage.state_dir)
        await open_page.rest()  # until the daemon has ended it
        for old in (login, stage.token):
            headers = {"Authorization": f"Bearer {old}"}
            assert (await stage.asked("GET", "/api/v1/threads", headers)).status == 401
        headers = {"Authorization": f"Bearer {token}"}
        assert (await stage.asked("GET", "/api/v1/threads", headers)).status == 200


class TestUnixSocket:
    async def test_the_owner_needs_no_token(self, stage: Stage) -> None:
        async with stage.unix() as wire:
            assert (await wire.ask("GET", "/api/v1/threads", {"Host": "anything"})).status == 200
            assert (await wire.ask("GET", "/metrics")).status == 200

    async def test_a_page_that_reached_it_through_a_tunnel_is_refused(self, stage: Stage) -> None:
        async with stage.unix() as wire:
            assert (await wire.ask("GET", "/rpc", {"Origin": EVIL, **UPGRADE})).status == 403
