"""The settings: a type for each table of the file, with the defaults. What a
table is about is given the table itself.
"""

import ipaddress
import re
from operator import attrgetter
from typing import Annotated, Literal

import msgspec
from trimpoint_protocol.shapes.notices import NoticeKind

MAX_PORT = 65_535
FLEET_NAME = re.compile(r"[A-Za-z0-9_-]{1,63}")
"""The pattern for the name of a tenant, host or person of a fleet, which is one token of a NATS
subject.
"""
Positive = Annotated[int, msgspec.Meta(ge=1)]
Above0 = Annotated[float, msgspec.Meta(gt=0)]
Seconds = Above0
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]

BACKGROUND_IDLE_EXIT_S = 60.0
"""The number of seconds that a daemon which a client started waits for another client, unless
configured.
"""


SECRET_NAMES = (
    ".env", ".env.*", "*.env", ".envrc", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore",
    "*.kdbx", "*.ppk", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_*_sk", ".netrc", ".pgpass",
    ".npmrc", ".pypirc", ".git-credentials", ".htpasswd", "credentials", "credentials.json",
    "service-account*.json", "auth.json", "kubeconfig", "*.kubeconfig", ".vault-token", "*.tfvars",
    "*.tfstate", "*.tfstate.backup",
)  # fmt: skip
"""Patterns of the names of files that commonly contain keys and passwords."""


class _Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base class of the tables of the file."""


class DaemonSection(_Section, frozen=True):
    """`[daemon]`: the seconds after which a daemon without clients and work ends; 0 means never.

    If it is not set, a daemon that a client started in the background ends after
    `BACKGROUND_IDLE_EXIT_S`, and any other daemon never.
    """

    idle_exit_s: Annotated[float, msgspec.Meta(ge=0)] | None = None


class CodexSection(_Section, frozen=True):
    """`[codex]`: the binary, the home and the `-c` overrides of Codex, the deadline of its
    requests, and whether the plain `codex` command connects to the daemon. `max_profiles` limits
    the number of further launch profiles that clients may request; each Codex of theirs ends after
    `profile_idle_s` seconds without use.
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
    """`[compaction]`: the fewest messages for `/compact`, its deadline, and the model and effort
    that write the summary.
    """

    min_messages: Positive = 6
    deadline_s: Seconds = 600.0
    model: str | None = None
    effort: str | None = None


class ContextSection(_Section, frozen=True):
    """`[context]`: the levels of the meter, and what happens at the critical level."""

    auto: Literal["off", "warn", "mask", "compact"] = "warn"
    warning_at: Share = 0.70
    critical_at: Share = 0.90
    preserve_recent_turns: Annotated[int, msgspec.Meta(ge=0)] = 3
    min_freed: Share = 0.10
    pins_share: Share = 0.25
    overflow_recovery: bool = True
    cached_price: Share = 0.1
    cache_write_price: Above0 = 1.0
    cache_minutes: Above0 = 10
    mask_at: Share = 0.35
    keep_turns: Annotated[int, msgspec.Meta(ge=0)] = 3
    pays_off_within: Positive = 20
    mid_turn: bool = False

    def __post_init__(self) -> None:
        if self.warning_at > self.critical_at:
            raise ValueError(
                f"warning_at ({self.warning_at:g}) must not be above critical_at "
                f"({self.critical_at:g})"
            )


class ModelSection(_Section, frozen=True):
    """`[models."name"]`: facts about a model that Codex does not report."""

    max_context_tokens: Positive | None = None
    compaction_model: str | None = None
    cached_price: Share | None = None
    cache_write_price: Above0 | None = None
    cache_minutes: Above0 | None = None


class DiscardSection(_Section, frozen=True):
    """`[discard]`: the default target of `/compress`, the floor that is always left, and whether
    agents get the tools to discard parts of their context.
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
    """`[checkpoints]`: whether worktrees are captured around turns, which files are left out, and
    how long a turn waits for a capture, in seconds and bytes.

    `baseline_deadline_s` is how long a turn waits for its baseline, `deadline_s` the limit for any
    other capture. `completion_grace_s` is how long the notification that a turn has ended is
    delayed for its capture, so that a person's next change is not taken for the agent's. Of the
    untracked files that were not captured before, at most `max_untracked_bytes` are captured, and
    none whose name matches one of `secret_names`.
    """

    enabled: bool = True
    max_file_bytes: Positive = 64 * 1024 * 1024
    baseline_deadline_s: Seconds = 10.0
    completion_grace_s: Annotated[float, msgspec.Meta(ge=0)] = 0.25
    deadline_s: Seconds = 120.0
    max_untracked_bytes: Positive = 128 * 1024 * 1024
    secret_names: tuple[str, ...] = SECRET_NAMES


class LimitsSection(_Section, frozen=True):
    """`[limits]`: the resources that clients may use."""

    # A message is parsed at once, and all other clients wait meanwhile.
    max_message_bytes: Positive = 16 * 1024 * 1024
    max_outbox_bytes: Positive = 64 * 1024 * 1024
    max_requests_in_flight: Positive = 1024
    max_clients: Positive = 1024
    handshake_deadline_s: Seconds = 60.0

    @property
    def descriptors(self) -> int:
        """Returns the number of file descriptors that the daemon may need: one for each client, and
        1024 for journals and pipes.
        """
        return self.max_clients + 1024


class NotifySection(_Section, frozen=True):
    """`[notify]`: the program that is run, and the URL that is posted to, when one of the events
    happens; none when empty. With `prompts` they, and the clients that show such events, get the
    first prompt of a thread that has no name.
    """

    command: tuple[str, ...] = ()
    webhook: str = ""
    events: tuple[NoticeKind, ...] = ("asks", "critical", "automatic", "failed")
    prompts: bool = False

    def __post_init__(self) -> None:
        if self.webhook and not self.webhook.startswith(("https://", "http://")):
            raise ValueError(f"webhook takes an http(s) URL, not {self.webhook!r}")


class ThreadsSection(_Section, frozen=True):
    """`[threads]`: an unused thread leaves memory after `evict_after_s` seconds, or if there are
    more than `max_idle`. A thread gets a snapshot when opening it would replay at least
    `snapshot_after_records` records.
    """

    evict_after_s: Seconds = 300.0
    max_idle: Positive = 64
    snapshot_after_records: Positive = 1_000


class RetentionSection(_Section, frozen=True):
    """`[retention]`: after how many days an archived thread is removed from the state directory; 0
    means never. With `delete` it is deleted instead of moved.
    """

    archived_after_days: Annotated[int, msgspec.Meta(ge=0)] = 0
    delete: bool = False


class ChatSection(_Section, frozen=True):
    """`[chat]`: the keys of `trimpoint chat` that are other ones, by the names of what they do."""

    keys: dict[str, str] = {}


class LogSection(_Section, frozen=True):
    """`[log]`: the lowest level that is logged."""

    level: Literal["debug", "info", "warning", "error"] = "info"


class MetricsSection(_Section, frozen=True):
    """`[metrics]`: the address for Prometheus as `host:port`. If it is not set, no metrics are
    served. It must be on this machine unless `allow_remote`.
    """

    listen: str | None = None
    allow_remote: bool = False

    def address(self) -> tuple[str, int] | None:
        """Returns the host and port to listen on, or None.

        :raises ValueError: when `listen` is invalid; the message says why.
        """
        return _address(self.listen, "127.0.0.1:9464", allow_remote=self.allow_remote)


class HttpSection(_Section, frozen=True):
    """`[http]`: the TCP address for HTTP and WebSocket clients as `host:port`. If it is not set,
    the daemon does not listen on TCP.

    With port 0 the system chooses the port. `hosts` are further host names, besides this machine's
    own, that requests may use.
    """

    listen: str | None = None
    allow_remote: bool = False
    hosts: tuple[str, ...] = ()

    def address(self) -> tuple[str, int] | None:
        """Returns the host and port to listen on, or None.

        :raises ValueError: when `listen` is invalid; the message says why.
        """
        return _address(self.listen, "127.0.0.1:0", allow_remote=self.allow_remote)


def _address(listen: str | None, example: str, *, allow_remote: bool) -> tuple[str, int] | None:
    if listen is None:
        return None
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > MAX_PORT:
        raise ValueError(f"{listen!r} is not an address and port, such as {example!r}")
    if not allow_remote and not is_loopback(host):
        raise ValueError(
            f"{listen!r} can be reached from other machines; if that is meant, set allow_remote = "
            "true"
        )
    return host, int(port)


def is_loopback(host: str) -> bool:
    """Returns whether `host` is an address that only this machine can reach."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class FleetSection(_Section, frozen=True):
    """`[fleet]`: the NATS servers that show this machine's threads to a team. Without `servers`
    nothing is connected.

    `content` says which texts of a conversation leave this machine. `host` is this machine's name
    in the fleet; its host name if not set. `person_credentials` are used by `trimpoint fleet` and
    the web page, which act for a person.
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
    """All settings."""

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
    notify: NotifySection = NotifySection()
    chat: ChatSection = ChatSection()
    log: LogSection = LogSection()
    metrics: MetricsSection = MetricsSection()
    http: HttpSection = HttpSection()
    fleet: FleetSection = FleetSection()


SECTIONS = frozenset({Config, *_Section.__subclasses__()})
"""The types that are tables of the file."""

FIXED = frozenset(
    f"{table}.{key}"
    for table, keys in {
        "codex": ("request_deadline_s", "profile_idle_s"),
        "compaction": ("min_messages", "deadline_s"),
        "context": ("min_freed", "pins_share"),
        "discard": ("floor_tokens",),
        "checkpoints": ("baseline_deadline_s", "completion_grace_s", "deadline_s"),
        "limits": LimitsSection.__struct_fields__,
        "threads": ThreadsSection.__struct_fields__,
    }.items()
    for key in keys
)
"""The keys that are constants, because nobody can choose them better than their defaults. A file
of an earlier version that sets one is obeyed, with a warning.
"""


def fixed_settings(config: Config) -> list[str]:
    """Returns the keys of `FIXED` to which `config` gives another value than the default."""
    default = Config()
    return sorted(key for key in FIXED if attrgetter(key)(config) != attrgetter(key)(default))
