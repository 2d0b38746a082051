"""Reads Codex's answer to `initialize`."""

import re

import msgspec
from msgspec import Raw


class InitializeResult(msgspec.Struct, frozen=True):
    """The answer to `initialize`. `version` is (major, minor, patch), None when the user agent
    shows none.
    """

    user_agent: str
    version: tuple[int, int, int] | None
    raw: Raw


class _UserAgent(msgspec.Struct, rename="camel"):
    user_agent: str


def initialize_result(raw: Raw) -> InitializeResult:
    """Returns the answer, read as far as it can be."""
    try:
        user_agent = msgspec.json.decode(raw, type=_UserAgent).user_agent
    except msgspec.MsgspecError:
        user_agent = ""
    return InitializeResult(user_agent, parse_version(user_agent), raw)


def parse_version(user_agent: str) -> tuple[int, int, int] | None:
    """Returns the version in `name/0.163.0 (…)`, without a pre-release suffix; None when there is
    none.
    """
    found = re.search(r"/(\d+)\.(\d+)\.(\d+)", user_agent)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))
