"""Configuration: defaults, then the TOML file, then the environment, then flags; each wins over the
one before (docs/spec/running.md).

Strict: an unknown key is an error that names the line and the nearest key there is.
"""

import difflib
import ipaddress
import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin

import msgspec
from trimpoint_protocol.locations import HomeUnknown, xdg_directory

from trimpoint.core.model.lenient import as_dict
from trimpoint.git.capture.untracked import SECRET_NAMES

MAX_PORT = 65_535
FLEET_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
"""A tenant, host or person of a fleet: one token of a NATS subject."""
Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]

BACKGROUND_IDLE_EXIT_S = 60.0
"""How long a daemon that a client started waits for another client, unless configured."""


S = TypeVar("S", bound=msgspec.Struct)


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A table of the file."""


class DaemonSection(_Section, frozen=True):
    """`[daemon]`: when a daemon that has no client and no work ends; after 0 seconds: never.

    Without a value, one that a client started in the background ends after
    `BACKGROUND_IDLE_EXIT_S`, and any other never.
    """

    idle_exit_s: Annotated[float, msgspec.Meta(ge=0)] | None = None


class CodexSection(_Section, frozen=True):
    """`[codex]`: which binary and home, with which `-c` overrides, how long it is waited for,
    whether plain `codex` comes to us, and how many others clients may bring, each ended when it is
    not used.
    """

    path: str | None = None
    home: str | None = None
    overrides: tuple[str, ...] = ()
    request_deadline_s: Seconds = 60.0
    control_socket: bool = False
    max_profiles: Annotated[int, msgspec.Meta(ge=0)] = 8
    profile_idle_s: Seconds = 60.0

    def __post_init__(self) -> None:
        for override in self.overrides:
            key, equals, _ = override.partition("=")
            if not equals or not key.strip():
                example = "'model=\"gpt-5\"'"
                raise ValueError(f"overrides takes KEY=VALUE, such as {example}, not {override!r}")


class CompactionSection(_Section, frozen=True):
    """`[compaction]`: when `/compact` is too early, when it has taken too long, and which model
    writes the summary.
    """

    min_messages: Positive = 6
    deadline_s: Seconds = 600.0
    model: str | None = None
    effort: str | None = None


class ContextSection(_Section, frozen=True):
    """`[context]`: when the context counts as full, and what is done about it."""

    auto: Literal["off", "warn", "compact"] = "warn"
    warning_at: Share = 0.70
    critical_at: Share = 0.90
    preserve_recent_turns: Annotated[int, msgspec.Meta(ge=0)] = 3
    min_freed: Share = 0.10
    pins_share: Share = 0.25
    overflow_recovery: bool = True

    def __post_init__(self) -> None:
        if self.warning_at > self.critical_at:
            raise ValueError(
                f"warning_at ({self.warning_at:g}) must not be above critical_at "
                f"({self.critical_at:g})"
            )


class ModelSection(_Section, frozen=True):
    """`[models."name"]`: what is known of a model that Codex does not tell."""

    max_context_tokens: Positive | None = None
    compaction_model: str | None = None


class DiscardSection(_Section, frozen=True):
    """`[discard]`: what `/compress` aims at, what is always left, and whether agents may discard by
    themselves.
    """

    floor_tokens: Positive = 30_000
    target_tokens: Positive = 50_000
    agent_tools: bool = False

    def __post_init__(self) -> None:
        if self.target_tokens < self.floor_tokens:
            raise ValueError(
                f"target_tokens ({self.target_tokens}) must not be less than floor_tokens "
                f"({self.floor_tokens})"
            )


class CheckpointsSection(_Section, frozen=True):
    """`[checkpoints]`: whether worktrees are captured around turns, which files are too large, and
    how long a turn waits for it.
    """

    enabled: bool = True
    max_file_bytes: Positive = 64 * 1024 * 1024
    baseline_deadline_s: Seconds = 10.0
    completion_grace_s: Annotated[float, msgspec.Meta(ge=0)] = 0.25
    deadline_s: Seconds = 120.0
    max_untracked_bytes: Positive = 128 * 1024 * 1024
    secret_names: tuple[str, ...] = SECRET_NAMES


class LimitsSection(_Section, frozen=True):
    """`[limits]`: what one client may cost."""

    # What is larger is read in one go all the same, while every other client waits.
    max_message_bytes: Positive = 16 * 1024 * 1024
    max_outbox_bytes: Positive = 64 * 1024 * 1024
    max_requests_in_flight: Positive = 1024
    max_clients: Positive = 1024
    handshake_deadline_s: Seconds = 60.0

    @property
    def descriptors(self) -> int:
        """Returns how many files the daemon may open: one for each client, and room for journals
        and pipes.
        """
        return self.max_clients + 1024


class ThreadsSection(_Section, frozen=True):
    """`[threads]`: when an unused thread leaves memory, and how many new records are worth
    a snapshot.
    """

    evict_after_s: Seconds = 300.0
    max_idle: Positive = 64
    snapshot_after_records: Positive = 1_000


class RetentionSection(_Section, frozen=True):
    """`[retention]`: when threads that were archived long ago leave the state directory; 0 days,
    never. `delete`: for good.
    """

    archived_after_days: Annotated[int, msgspec.Meta(ge=0)] = 0
    delete: bool = False


class LogSection(_Section, frozen=True):
    """`[log]`: debug | info | warning | error."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class MetricsSection(_Section, frozen=True):
    """`[metrics]`: where a Prometheus may read, as `host:port`; nowhere without it, and on this
    machine unless `allow_remote`.
    """

    listen: str | None = None
    allow_remote: bool = False

    def address(self) -> tuple[str, int] | None:
        """Host and port to listen at.

        :raises ValueError: `listen` cannot be used; the message says why.
        """
        return _address(self.listen, "127.0.0.1:9464", allow_remote=self.allow_remote)


class HttpSection(_Section, frozen=True):
    """`[http]`: where HTTP and WebSocket clients find the daemon over TCP, as `host:port`; nowhere
    without it.

    Port 0 lets the system choose. `hosts` are names, beside this machine's own, by which it may be
    called.
    """

    listen: str | None = None
    allow_remote: bool = False
    hosts: tuple[str, ...] = ()

    def address(self) -> tuple[str, int] | None:
        """Host and port to listen at.

        :raises ValueError: `listen` cannot be used; the message says why.
        """
        return _address(self.listen, "127.0.0.1:0", allow_remote=self.allow_remote)


def _address(listen: str | None, example: str, *, allow_remote: bool) -> tuple[str, int] | None:
    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f"{listen!r} is no address and port, such as {example!r}")
    if not allow_remote and not is_loopback(host):
        raise ValueError(
            f"{listen!r} can be reached from other machines; if that is meant, set allow_remote = "
            "true"
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Returns whether only this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class FleetSection(_Section, frozen=True):
    """`[fleet]`: the NATS servers that show this machine's threads to a team; nothing is connected
    without `servers`.

    `content`: which words of a conversation leave this machine. `host` is the machine's own name
    without it. `person_credentials` are for `trimpoint fleet` and the page, which ask as a person.
    """

    servers: tuple[str, ...] = ()
    credentials: str | None = None
    person_credentials: str | None = None
    tenant: str = "default"
    host: str | None = None
    content: Literal["none", "titles", "full"] = "none"
    ca: str | None = None
    domain: str | None = None

    def __post_init__(self) -> None:
        names = (("tenant", self.tenant), ("host", self.host), ("domain", self.domain))
        for key, name in names:
            if name is not None and not FLEET_NAME.fullmatch(name):
                raise ValueError(f"{key} takes up to 63 letters, digits, - and _, not {name!r}")


class Config(_Section, frozen=True):
    """Everything that can be configured."""

    socket: str | None = None
    state_dir: str | None = None
    daemon: DaemonSection = DaemonSection()
    codex: CodexSection = CodexSection()
    compaction: CompactionSection = CompactionSection()
    context: ContextSection = ContextSection()
    models: dict[str, ModelSection] = {}
    discard: DiscardSection = DiscardSection()
    checkpoints: CheckpointsSection = CheckpointsSection()
    limits: LimitsSection = LimitsSection()
    threads: ThreadsSection = ThreadsSection()
    retention: RetentionSection = RetentionSection()
    log: LogSection = LogSection()
    metrics: MetricsSection = MetricsSection()
    http: HttpSection = HttpSection()
    fleet: FleetSection = FleetSection()


_SECTIONS = frozenset({Config, *_Section.__subclasses__()})


ENVIRONMENT = {
    "TRIMPOINT_SOCKET": ("socket",),
    "TRIMPOINT_STATE_DIR": ("state_dir",),
    "TRIMPOINT_CODEX": ("codex", "path"),
    "TRIMPOINT_LOG": ("log", "level"),
}
"""Which variable sets what; an empty one sets nothing."""


class ConfigInvalid(Exception):
    """The configuration cannot be used; `hint` says what is right."""

    def __init__(self, source: str, problem: str, hint: str = "") -> None:
        super().__init__(source, problem)
        self.source = source
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.source}: {self.problem}" + (f" {self.hint}" if self.hint else "")


def default_config_path(environ: Mapping[str, str]) -> Path:
    """Returns where the file is looked for when none is named."""
    return xdg_directory(environ, "XDG_CONFIG_HOME", ".config") / "trimpoint" / "config.toml"


def load_config(path: Path | None, environ: Mapping[str, str] = os.environ) -> Config:
    """The configuration from `path`, or from the default place if there is a file, with the
    environment over it.

    :raises ConfigInvalid: the file cannot be read or holds something that is not right.
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
    """The configuration in TOML `text`.

    :raises ConfigInvalid: see `load_config`.
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigInvalid(source, f"this is no TOML: {error}.") from error
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
    """`value` as `shape`, table by table, so that an error can say where it stands."""
    if isinstance(value, dict) and get_origin(shape) is dict:
        inner_shape = get_args(shape)[1]
        return {
            key: _converted(inner, inner_shape, (*path, key), text, source)
            for key, inner in as_dict(value).items()
        }
    if isinstance(value, dict) and shape in _SECTIONS:
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
    """Returns the values that a setting takes, if it takes only certain ones."""
    return f"It takes one of {', '.join(get_args(shape))}." if get_origin(shape) is Literal else ""


def _section(
    shape: Any, table: dict[str, Any], path: tuple[str, ...], text: str, source: str
) -> Any:
    """A table whose values are right one by one, and must fit together."""
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
            hint = f"Did you mean {nearest[0]!r}?" if nearest else f"There are: {', '.join(known)}."
            where = f"{source}:{_line_of(text, (*path, key))}"
            raise ConfigInvalid(where, f"unknown key {'.'.join((*path, key))!r}.", hint)


def _without_path(error: msgspec.ValidationError) -> str:
    """Returns what is wrong with the value, without the path."""
    return str(error).partition(" - at `$")[0]


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """Returns the number of the first line that sets `path`, opens it as a table, or does so for a
    parent of it; 1 when none is found.
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
    """The keys of a table's header or of one assignment; none when it is something else, such as a
    line of a longer value.
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
