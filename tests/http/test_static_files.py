"""The web UI's files: their addresses and headers, and the answer where they were not built."""

import gzip
from pathlib import Path

from trimpoint.http.exchange import Request
from trimpoint.http.static_files import (
    BUILT,
    PAGE_POLICY,
    StaticFiles,
    default_folder,
    missing_page,
)

from tests.http.stage import Stage

PAGE = '<script type="module" src="{{base}}main.js"></script>'


def built(folder: Path) -> StaticFiles:
    folder.mkdir(exist_ok=True)
    (folder / "index.html").write_text(PAGE)
    (folder / "notes.md").write_text("no")
    (folder / BUILT).write_text("export {};")
    return StaticFiles(folder)


def asked(files: StaticFiles, path: str, method: str = "GET", encoding: str = ""):  # noqa: ANN201
    return files.response(Request(method, path, {"accept-encoding": encoding}))


def test_a_folder_without_the_page_is_named_before_a_browser_opens(tmp_path: Path) -> None:
    assert "scripts/build-web" in missing_page(tmp_path)
    built(tmp_path)
    assert missing_page(tmp_path) == ""


def base_of(files: StaticFiles) -> str:
    page = asked(files, "/")
    assert page is not None
    return page.body.decode().partition('src="')[2].partition("main.js")[0]


def test_the_page_names_its_files_by_what_is_in_them(tmp_path: Path) -> None:
    files = built(tmp_path)
    base = base_of(files)
    found = asked(files, f"{base}main.js")
    assert found is not None
    assert found.body == b"export {};"
    assert dict(found.headers)["Cache-Control"] == "private, max-age=31536000, immutable"
    (tmp_path / BUILT).write_text("export const changed = 1;")
    assert base_of(files) != base
    assert asked(files, f"{base}main.js") is None


def test_the_page_may_run_nothing_but_its_own_scripts(tmp_path: Path) -> None:
    page = asked(built(tmp_path), "/")
    assert page is not None
    headers = dict(page.all_headers())
    assert headers["Content-Security-Policy"] == PAGE_POLICY
    assert "unsafe" not in PAGE_POLICY
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "no-store"


def test_files_are_packed_for_who_can_unpack_them(tmp_path: Path) -> None:
    files = built(tmp_path)
    packed = asked(files, f"{base_of(files)}main.js", encoding="gzip, br")
    assert packed is not None
    assert dict(packed.headers)["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.body) == b"export {};"


def test_what_the_build_has_packed_better_is_sent_to_who_can_unpack_it(tmp_path: Path) -> None:
    files = built(tmp_path)
    (tmp_path / f"{BUILT}.br").write_bytes(b"packed")
    for encoding, sent in (("gzip, deflate, br", b"packed"), ("", b"export {};")):
        found = asked(files, f"{base_of(files)}{BUILT}", encoding=encoding)
        assert found is not None
        assert found.body == sent
        assert dict(found.headers).get("Content-Encoding", "") == ("br" if encoding else "")
        assert dict(found.headers)["Vary"] == "Accept-Encoding"
    page = asked(files, f"{base_of(files)}index.html", encoding="br, gzip")
    assert page is not None
    assert dict(page.headers)["Content-Encoding"] == "gzip"
    assert asked(files, f"{base_of(files)}{BUILT}.br") is None


def test_no_file_outside_the_folder_is_served(tmp_path: Path) -> None:
    (tmp_path / "secret.js").write_text("no")
    files = built(tmp_path / "app")
    base = base_of(files)
    for path in ("../secret.js", "notes.md", "", "%2e%2e/secret.js", "nothing.js"):
        assert asked(files, f"{base}{path}") is None, path
    assert asked(files, "/static/0123456789abcdef/main.js") is None
    assert asked(files, "/", "POST") is None
    assert asked(files, "/api/v1/threads") is None


def test_a_page_that_was_not_built_says_so(tmp_path: Path) -> None:
    files = built(tmp_path)
    (tmp_path / BUILT).unlink()
    page = asked(files, "/")
    assert page is not None
    assert page.status == 503
    assert b"scripts/build-web" in page.body


async def test_the_daemon_serves_the_page_without_proof_as_it_holds_no_secret(stage: Stage) -> None:
    built_here = (default_folder() / BUILT).exists()
    answer = await stage.asked("GET", "/")
    assert answer.status == (200 if built_here else 503)
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    async with stage.tcp() as wire:
        shown = await wire.ask("GET", "/", {"Host": f"127.0.0.1:{stage.port}"})
    assert shown.body == answer.body
