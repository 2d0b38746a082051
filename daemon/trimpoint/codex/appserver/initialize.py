"""Reads Codex's answer to `initialize`."""

import re

import msgspec
from msgspec import Raw


class InitializeResult(msgspec.Struct, frozen=True):
    """Codex's answer to `initialize`. `version` is (major, minor, patch), or None if the user agent
    has none.
    """

    user_agent: str
    version: tuple[int, int, int] | None
    raw: Raw


class _UserAgent(msgspec.Struct, rename="camel"):
    user_agent: str


def initialize_result(raw: Raw) -> InitializeResult:
    """Returns the decoded answer. An answer without a user agent yields an empty one and no
    version.
    """
    try:
        user_agent = msgspec.json.decode(raw, type=_UserAgent).user_agent
    except msgspec.MsgspecError:
        user_agent = ""
    return InitializeResult(user_agent, parse_version(user_agent), raw)


def parse_version(user_agent: str) -> tuple[int, int, int] | None:
    """Returns the version in a user agent such as `name/0.163.0 (…)`, without a pre-release suffix;
    None if it has none.
    """
    found = re.search(r"/(\d+)\.(\d+)\.(\d+)", user_agent)
    return None if found is None else (int(found[1]), int(found[2]), int(found[3]))
