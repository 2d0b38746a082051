"""Loads the configuration: defaults, the TOML file, the environment and the flags, each with
precedence over those before (docs/spec/running.md).

An unknown key is an error, which names the line and the most similar known key.
"""

import difflib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec
from trimpoint_protocol.lenient import as_dict
from trimpoint_protocol.locations import HomeUnknown, xdg_directory

from trimpoint.config.sections import FIXED, SECTIONS, Config

S = TypeVar("S", bound=msgspec.Struct)


ENVIRONMENT = {
    "TRIMPOINT_SOCKET": ("socket",),
    "TRIMPOINT_STATE_DIR": ("state_dir",),
    "TRIMPOINT_CODEX": ("codex", "path"),
    "TRIMPOINT_LOG": ("log", "level"),
}
"""The setting of each environment variable; an empty variable sets nothing."""


class ConfigInvalid(Exception):
    """The configuration is invalid. `source` is the file with the line, or the variable; `hint`
    says what is valid.
    """

    def __init__(self, source: str, problem: str, hint: str = "") -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.source}: {self.problem}" + (f" {self.hint}" if self.hint else "")


def default_config_path(environ: Mapping[str, str]) -> Path:
    """Returns the path of the configuration file that is read if none is given."""
    return xdg_directory(environ, "XDG_CONFIG_HOME", ".config") / "trimpoint" / "config.toml"


def load_config(path: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """Returns the configuration from `path`, or from the default path if that file exists, with the
    values of the environment over it.

    :raises ConfigInvalid: when the file cannot be read or has an invalid value.
    """
    try:
        source = path or default_config_path(environ)
    except HomeUnknown:
        return _with_environment(Config(), environ)
    try:
        text = source.read_text(encoding="utf-8")
    except FileNotFoundError:
        if path is not None:
            raise ConfigInvalid(str(source), "there is no such file.") from None
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigInvalid(str(source), f"it cannot be read: {error}.") from error
    return _with_environment(parse_config(text, str(source)), environ)


def parse_config(text: str, source: str) -> Config:
    """Returns the configuration in TOML `text`. `source` names it in errors.

    :raises ConfigInvalid: when it is no TOML or has an invalid value.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(source, f"this is not valid TOML: {error}.") from error
    config = _converted(document, Config, (), text, source)
    assert isinstance(config, Config)
    for name, section in (("metrics", config.metrics), ("http", config.http)):
        try:
            section.address()
        except ValueError as error:
            place = f"{source}:{_line_of(text, (name, 'listen'))}"
            raise ConfigInvalid(place, f"{name}.listen: {error}.") from error
    return config


def _converted(value: Any, shape: Any, path: tuple[str, ...], text: str, source: str) -> Any:
    """Returns `value` converted to the type `shape`, table by table, so that an error can name the
    line.
    """
    if isinstance(value, dict) and get_origin(shape) is dict:
        inner_shape = get_args(shape)[1]
        return {
            key: _converted(inner, inner_shape, (*path, key), text, source)
            for key, inner in as_dict(value).items()
        }
    if isinstance(value, dict) and shape in SECTIONS:
        table = as_dict(value)
        known = {field.name: field.type for field in msgspec.structs.fields(shape)}
        _refuse_unknown(table, known, path, text, source)
        return _section(
            shape,
            {
                key: _converted(inner, known[key], (*path, key), text, source)
                for key, inner in table.items()
            },
            path,
            text,
            source,
        )
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError as error:
        raise ConfigInvalid(
            f"{source}:{_line_of(text, path)}",
            f"{'.'.join(path)}: {_without_path(error)}.",
            _choices(shape),
        ) from error


def _choices(shape: Any) -> str:
    """Returns a sentence with the allowed values of a setting that takes only certain ones, else an
    empty string.
    """
    return f"It takes one of {', '.join(get_args(shape))}." if get_origin(shape) is Literal else ""


def _section(
    shape: Any, table: dict[str, Any], path: tuple[str, ...], text: str, source: str
) -> Any:
    """Returns a section from values that are valid one by one.

    :raises ConfigInvalid: when the values do not fit together.
    """
    try:
        return shape(**table)
    except ValueError as error:
        raise ConfigInvalid(
            f"{source}:{_line_of(text, path)}", f"{'.'.join(path)}: {error}."
        ) from error


def _refuse_unknown(
    table: dict[str, Any], known: dict[str, Any], path: tuple[str, ...], text: str, source: str
) -> None:
    for key in table:
        if key not in known:
            nearest = difflib.get_close_matches(key, known, n=1)
            open_ones = [one for one in known if ".".join((*path, one)) not in FIXED]
            listed = f"There are: {', '.join(open_ones)}." if open_ones else ""
            hint = f"Did you mean {nearest[0]!r}?" if nearest else listed
            where = f"{source}:{_line_of(text, (*path, key))}"
            raise ConfigInvalid(where, f"unknown key {'.'.join((*path, key))!r}.", hint)


def _without_path(error: msgspec.ValidationError) -> str:
    """Returns the message of the error without the path at its end."""
    return str(error).partition(" - at `$")[0]


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """Returns the number of the first line that sets `path` or opens it as a table; else that of a
    parent of it, or 1.
    """
    while path:
        if (found := _line_that_sets(text, path)) is not None:
            return found
        path = path[:-1]
    return 1


def _line_that_sets(text: str, path: tuple[str, ...]) -> int | None:
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("["):
            here = table = _path_in(stripped)
        else:
            key, equals, _ = stripped.partition("=")
            here = (*table, *_path_in(f"{key}=0")) if equals else ()
        if here[: len(path)] == path:
            return number
    return None


def _path_in(fragment: str) -> tuple[str, ...]:
    """Returns the keys of a table header or of an assignment; empty if the text is something else,
    such as a line of a longer value.
    """
    try:
        found: Any = tomllib.loads(fragment)
    except tomllib.TOMLDecodeError:
        return ()
    path: list[str] = []
    while isinstance(found, dict) and found:
        key, found = next(iter(as_dict(found).items()))
        path.append(key)
    return tuple(path)


def _with_environment(config: Config, environ: Mapping[str, str]) -> Config:
    for variable, path in ENVIRONMENT.items():
        if environ.get(variable):
            config = _with_value(config, path, environ[variable], variable)
    return config


def _with_value(section: S, path: tuple[str, ...], value: str, variable: str) -> S:
    name, *rest = path
    if rest:
        inner: Any = _with_value(getattr(section, name), tuple(rest), value, variable)
    else:
        [shape] = [field.type for field in msgspec.structs.fields(section) if field.name == name]
        try:
            inner = msgspec.convert(value, shape)
        except msgspec.ValidationError as error:
            problem = f"{_without_path(error)}."
            raise ConfigInvalid(variable, problem, _choices(shape)) from error
    return msgspec.structs.replace(section, **{name: inner})
