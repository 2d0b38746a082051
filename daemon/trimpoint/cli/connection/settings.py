"""Reads the settings of a daemon, and where to find one, from the command line, the environment and
the configuration file.
"""

import argparse
import os
import tomllib
from pathlib import Path
from typing import NamedTuple

import msgspec
from trimpoint_protocol.locations import HomeUnknown, default_socket_path, default_state_dir

from trimpoint.cli.exits import CliError, UsageError
from trimpoint.config.loading import ConfigInvalid, default_config_path, load_config
from trimpoint.config.sections import Config

CONFIG_INVALID = "config_invalid"
"""The reason of a `UsageError` about the configuration."""


class Settings(NamedTuple):
    """The settings of a daemon. `socket_is_named` and `state_dir_is_named` tell whether a flag, the
    file or the environment set the path; otherwise it is the default.
    """

    config: Config
    state_dir: Path
    socket: Path
    socket_is_named: bool
    state_dir_is_named: bool


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Returns the settings from flags, environment and configuration file, in this order of
    precedence (docs/spec/running.md).

    :raises UsageError: when the configuration cannot be used.
    """
    return _placed(_config(arguments), arguments)


def _placed(config: Config, arguments: argparse.Namespace) -> Settings:
    named_socket = arguments.socket or config.socket
    named_state_dir = arguments.state_dir or config.state_dir
    try:
        state_dir = _path(named_state_dir) if named_state_dir else default_state_dir(os.environ)
        socket = _path(named_socket) if named_socket else default_socket_path(os.environ)
    except HomeUnknown as error:
        raise UsageError(str(error), error.hint, reason="no_home") from None
    return Settings(
        _with_overrides(config, arguments),
        state_dir,
        socket,
        socket_is_named=bool(named_socket),
        state_dir_is_named=bool(named_state_dir),
    )


def place_despite_mistakes(arguments: argparse.Namespace) -> Settings:
    """Returns settings that only tell where the daemon is, for a configuration file that cannot be
    used.

    :raises UsageError: when no path is named and there is no home folder.
    """
    path = _optional(arguments.config)
    table = _readable_places(path)
    bare = argparse.Namespace(**{**vars(arguments), "overrides": [], "http_listen": None})
    bare.socket = arguments.socket or os.environ.get("TRIMPOINT_SOCKET") or table.get("socket")
    bare.state_dir = (
        arguments.state_dir or os.environ.get("TRIMPOINT_STATE_DIR") or table.get("state_dir")
    )
    return _placed(Config(), bare)


def codex_binary(arguments: argparse.Namespace) -> Path:
    """Returns the path of the Codex to run: from the flag, the configuration, `PATH`, or the
    bundled package, in this order.

    :raises UsageError: when the configuration cannot be used.
    :raises CliError: when there is no usable Codex.
    """
    from trimpoint.codex.appserver.locate import CodexNotFound, CodexUnusable, find_codex

    flag: str | None = getattr(arguments, "codex", None)
    configured = _config(arguments).codex.path
    try:
        return find_codex(flag=_optional(flag), configured=_optional(configured)).path
    except CodexNotFound as error:
        raise CliError(f"{error}.", error.hint, reason="codex_not_found") from None
    except CodexUnusable as error:
        raise CliError(f"{error}.", error.hint, reason="codex_unusable") from None


def _config(arguments: argparse.Namespace) -> Config:
    try:
        return load_config(_optional(arguments.config))
    except ConfigInvalid as error:
        raise UsageError(
            f"{error.source}: {error.problem}", error.hint, reason=CONFIG_INVALID
        ) from None


def _with_overrides(config: Config, arguments: argparse.Namespace) -> Config:
    """Returns `config` with the flags applied. Overrides of flags come after those of the file, so
    they win.
    """
    flags: list[str] = getattr(arguments, "overrides", [])
    overrides = (*config.codex.overrides, *flags)
    control_socket = config.codex.control_socket or getattr(arguments, "as_codex_daemon", False)
    codex = msgspec.structs.replace(
        config.codex, overrides=overrides, control_socket=control_socket
    )
    config = msgspec.structs.replace(config, codex=codex)
    if (listen := getattr(arguments, "http_listen", None)) is None:
        return config
    http = msgspec.structs.replace(config.http, listen=listen)
    try:
        http.address()
    except ValueError as error:
        raise UsageError(f"--listen ws://{error}.") from None
    return msgspec.structs.replace(config, http=http)


def _optional(text: str | None) -> Path | None:
    return Path(text) if text else None


def _path(text: str) -> Path:
    # Absolute, because it is written down for others and a daemon's folder is its own affair.
    return Path(os.path.abspath(os.path.expanduser(text)))


def _readable_places(path: Path | None) -> dict[str, str]:
    """Returns `socket` and `state_dir` of a configuration file that has mistakes elsewhere, as far
    as they can be read.
    """
    try:
        table = tomllib.loads((path or default_config_path(os.environ)).read_text(encoding="utf-8"))
    except (OSError, ValueError, HomeUnknown):
        return {}
    places = {name: table.get(name) for name in ("socket", "state_dir")}
    return {name: place for name, place in places.items() if isinstance(place, str) and place}
