"""A relative or omitted working directory is resolved against the client's working directory
(measured: codex 0.163).
"""

import os
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.gateway.ids.working_directory import resolve_working_directory
from trimpoint_protocol import jsonrpc

ELSEWHERE = "/somewhere/else"


def sent(method: str, params: Any, folder: str | None = ELSEWHERE) -> Any:
    """Returns the parameters that Codex receives."""
    request = jsonrpc.decode(msgspec.json.encode({"id": 1, "method": method, "params": params}))
    assert isinstance(request, jsonrpc.Request)
    return msgspec.json.decode(resolve_working_directory(request, folder).params or b"null")


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("thread/start", {}, {"cwd": ELSEWHERE}),
        ("thread/start", {"cwd": None, "model": "m"}, {"cwd": ELSEWHERE, "model": "m"}),
        ("thread/start", {"cwd": "."}, {"cwd": ELSEWHERE}),
        ("thread/fork", {"threadId": "t", "cwd": ".."}, {"threadId": "t", "cwd": "/somewhere"}),
        (
            "turn/start",
            {"input": [{"cwd": "in"}], "cwd": "in"},
            {"input": [{"cwd": "in"}], "cwd": f"{ELSEWHERE}/in"},
        ),
        ("command/exec", {"command": ["pwd"]}, {"command": ["pwd"], "cwd": ELSEWHERE}),
        ("skills/list", {"cwds": []}, {"cwds": [ELSEWHERE]}),
    ],
)
def test_a_folder_is_named_for_a_client_that_works_elsewhere(
    method: str, params: Any, expected: Any
) -> None:
    assert sent(method, params) == expected


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("thread/start", {"cwd": "/absolute"}),
        ("thread/resume", {"threadId": "t"}),
        ("turn/start", {"input": []}),
        ("skills/list", {"cwds": ["/absolute"]}),
        ("thread/start", {"cwd": 5}),
        ("thread/start", [1]),
        ("thread/read", {"cwd": "not a folder of this method"}),
    ],
)
def test_anything_else_is_passed_on_as_it_is(method: str, params: Any) -> None:
    assert sent(method, params) == params


@pytest.mark.parametrize("folder", [None, os.getcwd()])
def test_a_client_in_the_daemons_own_folder_or_in_an_unknown_one_is_taken_at_its_word(
    folder: str | None,
) -> None:
    assert sent("thread/start", {"cwd": "."}, folder) == {"cwd": "."}


def test_a_daemon_whose_folder_was_removed_still_knows_its_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert sent("thread/start", {}) == {"cwd": ELSEWHERE}
