"""Checks Codex: its binary and version, its login, and whether its sandbox can work on this
machine.
"""

import os
import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.codex.appserver.launch import passed_on
from trimpoint.codex.appserver.locate import CodexBinary, CodexNotFound, CodexUnusable, find_codex
from trimpoint.codex.appserver.versions import (
    NEWEST_TESTED,
    OLDEST_SUPPORTED,
    Version,
    binary_version,
    version_text,
)
from trimpoint.doctor import kernel
from trimpoint.doctor.findings import Finding, Installation, fail, ok, warn
from trimpoint.doctor.paths import daemon_pid
from trimpoint.system import SYSTEM

_SOURCES = {
    "flag": "named by --codex",
    "config": "configured",
    "path": "found on PATH",
    "bundled": "from the PyPI package",
}
_SECRET = re.compile("KEY|SECRET|TOKEN|PASS|CREDENTIAL", re.IGNORECASE)
_LOGIN_HINT = (
    "Run `trimpoint login`. Not needed if your Codex configuration names a provider that has a key "
    "of its own."
)


class _Auth(msgspec.Struct):
    """The members of Codex's `auth.json` that show whether there is a login."""

    api_key: Any = msgspec.field(name="OPENAI_API_KEY", default=None)
    tokens: Any = None
    last_refresh: Any = None


def check(installation: Installation) -> Iterator[Finding]:
    """Yields the binary that a daemon would run, with its version."""
    flag, configured = installation.flags.get("codex.path"), installation.config.codex.path
    try:
        binary = find_codex(
            flag=Path(flag) if flag else None,
            configured=Path(configured) if configured else None,
            environ=installation.environ,
        )
    except (CodexNotFound, CodexUnusable) as error:
        yield fail("not found", f"{error}", error.hint)
        return
    yield _with_version(binary, binary_version(binary.path))


def _with_version(binary: CodexBinary, version: Version | None) -> Finding:
    oldest, newest = version_text(OLDEST_SUPPORTED), version_text(NEWEST_TESTED)
    facts = {
        "path": str(binary.path),
        "source": binary.source,
        "version": version_text(version) if version else None,
        "oldestSupported": oldest,
        "newestTested": newest,
    }
    text = f"{facts['version'] or 'version unknown'}, {binary.path} ({_SOURCES[binary.source]})"
    if version is None:
        return fail(
            "no version",
            f"{text}: it does not say its version",
            "Try `trimpoint codex --version`; reinstall it if that fails.",
            **facts,
        )
    if version < OLDEST_SUPPORTED:
        return fail("too old", f"{text}: too old", f"Install Codex {oldest} or newer.", **facts)
    if version > NEWEST_TESTED:
        hint = f"Tested are {oldest} to {newest}. If something is odd, try one of those."
        return warn("newer than tested", f"{text}: newer than what was tested", hint, **facts)
    return ok(f"{text}; tested are {oldest} to {newest}", **facts)


def check_login(installation: Installation) -> Iterator[Finding]:
    """Yields whether Codex has a login. Whether the provider accepts it is not checked."""
    path = installation.codex_home / "auth.json"
    try:
        auth = msgspec.json.decode(path.read_bytes(), type=_Auth)
    except FileNotFoundError:
        hint = (
            f"{_LOGIN_HINT} A login in the system's keyring is not seen here: trimpoint login "
            "status."
        )
        yield warn(
            "no login",
            f"no login in {installation.codex_home}",
            hint,
            codexHome=str(installation.codex_home),
            kind=None,
        )
        return
    except msgspec.MsgspecError:
        yield warn(
            "unreadable login",
            f"{path} cannot be read as a login",
            _LOGIN_HINT,
            codexHome=str(installation.codex_home),
            kind=None,
        )
        return
    kind = "with ChatGPT" if auth.tokens else "with an API key" if auth.api_key else None
    facts = {"codexHome": str(installation.codex_home), "kind": kind}
    if kind is None:
        yield warn(
            "unknown login", f"{path} holds no login that is known here", _LOGIN_HINT, **facts
        )
    elif path.stat().st_mode & 0o077:
        yield warn(
            "login readable by others",
            f"logged in {kind}, and others may read it",
            f"chmod 600 {path}",
            **facts,
        )
    else:
        yield ok(f"logged in {kind}, kept in {installation.codex_home}", **facts)


def check_sandbox(installation: Installation) -> Iterator[Finding]:
    """Yields whether user namespaces are allowed, which Codex's sandbox (bubblewrap) needs."""
    del installation
    if SYSTEM.kernel_setting("user.max_user_namespaces") is None:
        yield ok("what Codex's sandbox needs cannot be seen here: codex sandbox -- true tries it")
        return
    forbidden = [
        name
        for name, forbids in (
            ("user.max_user_namespaces", "0"),
            ("kernel.unprivileged_userns_clone", "0"),
            ("kernel.apparmor_restrict_unprivileged_userns", "1"),
        )
        if SYSTEM.kernel_setting(name) == forbids
    ]
    if forbidden and os.geteuid() != 0:
        hint = "Codex may be unable to sandbox what its agent runs. Try: codex sandbox -- true"
        yield warn(
            "user namespaces restricted",
            f"user namespaces are restricted ({', '.join(forbidden)})",
            hint,
            restrictedBy=forbidden,
        )
    else:
        yield ok(
            "user namespaces are allowed, which Codex's sandbox is made of", restrictedBy=forbidden
        )


def check_network(installation: Installation) -> Iterator[Finding]:
    """Yields which settings of Codex give the agents in its sandbox the network."""
    home = installation.codex_home
    files = sorted(home.glob("*config.toml"))
    tables = {path.name: _table(path) for path in files}
    tables["codex.overrides"] = _table_of(installation.config.codex.overrides)
    granting = [f"{name}: {key}" for name, table in tables.items() for key in _granting(table)]
    if not granting:
        yield ok("agents in Codex's sandbox have no network, as far as its settings tell")
        return
    hint = (
        "Such agents reach every server of this machine that needs no password. The daemon itself "
        "refuses them."
    )
    yield warn(
        "network for agents",
        f"agents in Codex's sandbox have the network ({', '.join(granting)})",
        hint,
        settings=granting,
    )


def check_environment(installation: Installation) -> Iterator[Finding]:
    """Yields which variables Codex and its agents get: of the running daemon's environment, else
    of the one that a daemon would be started with here.
    """
    pid = daemon_pid(installation)
    of_daemon = kernel.environment(pid) if pid else None
    names = sorted(filter(passed_on, installation.environ if of_daemon is None else of_daemon))
    secrets = [name for name in names if _SECRET.search(name)]
    owner = "this shell's" if of_daemon is None else "the daemon's"
    text = f"agents get {len(names)} of {owner} variables (--json has the names)"
    facts = {"names": names, "calledLikeSecrets": secrets}
    if not secrets:
        yield ok(text, **facts)
        return
    hint = (
        "Start the daemon without those that no agent needs, or keep them from commands with "
        "shell_environment_policy in Codex's config.toml."
    )
    yield Finding("ok", f"{text}; called like secrets: {', '.join(secrets)}", hint, facts)


def _granting(table: dict[str, Any], path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yields the keys of a Codex configuration, in profiles too, that give agents the network."""
    for key, value in table.items():
        place = (*path, key)
        if isinstance(value, dict):
            yield from _granting(as_dict(value), place)
        elif value is True and (
            place[-2:] == ("sandbox_workspace_write", "network_access")
            or ("permissions" in place[:-1] and place[-2:] == ("network", "enabled"))
        ):
            yield ".".join(place)


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # Codex itself says what is wrong with it


def _table_of(overrides: Iterable[str]) -> dict[str, Any]:
    try:
        return tomllib.loads("\n".join(overrides))
    except tomllib.TOMLDecodeError:
        return {}
