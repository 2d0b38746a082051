"""Which requests over TCP are answered, row by row, in raw bytes."""

import time

import pytest

from tests.http.stage import UPGRADE, Stage

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


class TestLogin:
    async def test_a_one_time_address_is_swapped_for_a_cookie(self, stage: Stage) -> None:
        url = stage.daemon.http.addresses.login_url().url
        target = url.removeprefix(f"http://127.0.0.1:{stage.port}")
        async with stage.tcp() as wire:
            answer = await wire.ask("GET", target, {"Sec-Fetch-Site": "none"})
        assert (answer.status, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"]
        assert "; HttpOnly; SameSite=Strict; Path=/" in cookie
        assert stage.token not in cookie
        mine = {"Cookie": f"other=1; {cookie.partition(';')[0]}"}
        async with stage.tcp() as wire:
            assert (await wire.ask("GET", "/api/v1/threads", mine)).status == 200
        async with stage.tcp() as wire:
            assert (
                await wire.ask("GET", "/rpc", {**mine, **UPGRADE, "Origin": "http://localhost"})
            ).status == 101
        for site in ("same-site", "cross-site"):
            async with stage.tcp() as wire:
                refused = await wire.ask("GET", "/api/v1/threads", {**mine, "Sec-Fetch-Site": site})
            assert (refused.status, refused.json()["reason"]) == (403, "foreign_site")
        async with stage.tcp() as wire:
            assert (await wire.ask("GET", target)).status == 401

    async def test_an_invented_code_gets_no_cookie(self, stage: Stage) -> None:
        async with stage.tcp() as wire:
            answer = await wire.ask("GET", "/login?code=invented")
        assert answer.status == 401
        assert "set-cookie" not in answer.headers

    def test_a_cookie_says_the_home_that_it_was_made_for_and_no_other(self) -> None:
        from trimpoint.http.access.credentials import Cookie, Credentials

        credentials = Credentials("t" * 43)
        name, now_s = credentials.cookie_name, int(time.time())
        home = "/home/me/.codex wörk;=."
        mine, plain = (credentials.new_cookie(now_s, one) for one in (home, None))
        assert credentials.good_cookie(f"a=b; {name}={mine}", now_s) == Cookie(home)
        assert credentials.good_cookie(f"{name}={plain}", now_s) == Cookie(None)
        expires, encoded, signature = mine.split(".")
        own = plain.partition(".")[2]
        for forged in (
            f"{expires}.{signature}",
            f"{expires}.{encoded}.{own}",
            f"{expires}.L2V0Yw==.{signature}",
            f"{encoded}.{expires}.{signature}",
            f"{expires}.{encoded}.",
        ):
            assert credentials.good_cookie(f"{name}={forged}", now_s) is None
        assert credentials.good_cookie(f"{name}={mine}", now_s + 31 * 24 * 3600) is None

    @pytest.mark.parametrize("age_s", [0, 31 * 24 * 3600])
    async def test_a_cookie_ends_with_its_time_and_cannot_be_prolonged(
        self, stage: Stage, age_s: int
    ) -> None:
        from trimpoint.http.access.credentials import Credentials

        credentials = Credentials(stage.token)
        cookie = credentials.new_cookie(int(time.time()) - age_s)
        async with stage.tcp() as wire:
            good = await wire.ask(
                "GET", "/api/v1/threads", {"Cookie": f"{credentials.cookie_name}={cookie}"}
            )
        assert good.status == (401 if age_s else 200)
        expires, _, signature = cookie.partition(".")
        for forged in (
            f"{int(expires) + 9**9}.{signature}",
            f"{expires}.",
            expires,
            ".",
            f"x.{signature}",
        ):
            assert not credentials.good_cookie(f"{credentials.cookie_name}={forged}", 0)


class TestUnixSocket:
    async def test_the_owner_needs_no_token(self, stage: Stage) -> None:
        async with stage.unix() as wire:
            assert (await wire.ask("GET", "/api/v1/threads", {"Host": "anything"})).status == 200
            assert (await wire.ask("GET", "/metrics")).status == 200

    async def test_a_page_that_reached_it_through_a_tunnel_is_refused(self, stage: Stage) -> None:
        async with stage.unix() as wire:
            assert (await wire.ask("GET", "/rpc", {"Origin": EVIL, **UPGRADE})).status == 403
