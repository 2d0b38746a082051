"""Checks the configuration: which values are in effect, and where each comes from."""

import tomllib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec
from trimpoint_protocol.lenient import as_dict

from trimpoint.config.loading import ENVIRONMENT
from trimpoint.config.sections import FIXED, fixed_settings
from trimpoint.doctor.findings import Finding, Installation, fail, ok, warn

# An override's value can be a bearer token or a header, so only its key is shown.
_SECRETIVE = "codex.overrides"


class Setting(NamedTuple):
    """A value of the configuration. `origin` is `default`, the path of the file, the name of an
    environment variable, or `flag`.
    """

    key: str
    value: Any
    origin: str


def check(installation: Installation) -> Iterator[Finding]:
    """Yields the configuration file, with each effective value and its origin as facts."""
    if installation.config_problem is not None:
        yield fail(
            "mistake in the file",
            installation.config_problem,
            "Correct the file; until then no daemon starts.",
        )
        return
    path = installation.config_path
    effective = {
        setting.key: {"value": setting.value, "origin": setting.origin}
        for setting in settings(installation)
    }
    if fixed := fixed_settings(installation.config):
        yield warn(
            "obsolete settings",
            f"{path} sets what is no longer a setting: {', '.join(fixed)}",
            "It is still obeyed. Delete the lines: the built-in values suit every machine.",
            path=str(path),
            settings=effective,
        )
        return
    yield ok(
        str(path) if path.exists() else f"no file at {path}", path=str(path), settings=effective
    )


def settings(installation: Installation) -> Iterator[Setting]:
    """Yields every effective value with its origin; of the fixed ones those that are set."""
    written = _leaves(_document(installation), ())
    from_file = dict.fromkeys(written, str(installation.config_path))
    from_environment = {
        ".".join(key): name for name, key in ENVIRONMENT.items() if installation.environ.get(name)
    }
    origins = {**from_file, **from_environment, **dict.fromkeys(installation.flags, "flag")}
    for key, value in _leaves(msgspec.to_builtins(installation.config), ()).items():
        origin = origins.get(key, "default")
        if key not in FIXED or origin != "default":
            yield Setting(key, _shown(installation, key, value), origin)


def _document(installation: Installation) -> dict[str, Any]:
    try:
        return tomllib.loads(installation.config_path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}


def _leaves(table: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        found |= (
            _leaves(as_dict(value), (*path, name))
            if isinstance(value, dict)
            else {".".join((*path, name)): value}
        )
    return found


def _shown(installation: Installation, key: str, value: Any) -> Any:
    if key == _SECRETIVE:
        return [f"{str(override).partition('=')[0]}=…" for override in value]
    effective = {"state_dir": installation.state_dir, "socket": installation.socket}
    return str(effective[key]) if key in effective else installation.flags.get(key, value)
