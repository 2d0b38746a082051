"""From a command line to what a daemon runs with, or to where one is found."""

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
    """`socket_is_named` and `state_dir_is_named`: a person chose it, by flag, file or environment;
    it is not merely the default.
    """

    config: Config
    state_dir: Path
    socket: Path
    socket_is_named: bool
    state_dir_is_named: bool


def settings_of(arguments: argparse.Namespace) -> Settings:
    """Returns the settings of flags, environment and configuration file, in that order
    (docs/spec/running.md).

    :raises UsageError: the configuration cannot be used.
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
    """Returns the settings as far as they say where the daemon is, for a file that cannot be used.

    :raises UsageError: there is no home folder, and no place is named.
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
    """Returns the Codex to run: flag, configuration, `PATH`, bundled package.

    :raises UsageError: the configuration cannot be used.
    :raises CliError: there is no usable Codex.
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
    """Flags come after the file's, and so win."""
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
    """Returns `socket` and `state_dir` of a file that has mistakes elsewhere, as far as they can
    be read.
    """
    try:
        table = tomllib.loads((path or default_config_path(os.environ)).read_text(encoding="utf-8"))
    except (OSError, ValueError, HomeUnknown):
        return {}
    places = {name: table.get(name) for name in ("socket", "state_dir")}
    return {name: place for name, place in places.items() if isinstance(place, str) and place}
