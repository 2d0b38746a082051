"""The shapes of `sidecar/…`: the daemon itself, its Codex, its numbers and its addresses."""

from typing import Literal

from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result

__all__ = [
    "USE_PROFILE",
    "AnswerIgnored",
    "CodexState",
    "CodexStatus",
    "LoginUrl",
    "LoginUrlParams",
    "MetricFamily",
    "MetricKind",
    "MetricSample",
    "MetricsParams",
    "MetricsResult",
    "ProfileChosen",
    "ProfileParams",
    "ProfileStatus",
    "ShutdownParams",
    "ShutdownResult",
    "SidecarStatus",
]
USE_PROFILE = "sidecar/useProfile"
MetricKind = Literal["counter", "gauge", "histogram"]


CodexState = Literal["connected", "idle", "unavailable"]


class CodexStatus(Result, frozen=True, kw_only=True):
    """The Codex process. `state`: connected | idle (not needed yet) | unavailable, and then
    `problem` says why.

    `overrides` are the `-c` values that it runs with, in order.
    """

    path: str
    state: CodexState
    version: str | None
    problem: str | None
    epoch: int
    overrides: list[str]


class ProfileParams(Params, frozen=True, kw_only=True):
    """The launch profile that a client requests: what its Codex is started with beyond the daemon's
    configuration.

    `overrides` are Codex's `key=value`, as for `-c`; they come after the daemon's own. `codex` is
    the path of a binary, `codexHome` a `CODEX_HOME`; both absolute.
    """

    overrides: list[str] = []
    codex: str | None = None
    codex_home: str | None = None


class ProfileChosen(Result, frozen=True, kw_only=True):
    """The answer to `sidecar/profile`. `profile` is the key of the launch profile, empty for the
    daemon's own. The other members identify the daemon.
    """

    profile: str
    pid: int
    state_dir: str
    version: str | None = None


class ProfileStatus(Result, frozen=True, kw_only=True):
    """A launch profile that runs beside the daemon's own. `overrides` are those that its clients
    requested; `clients` counts the connected clients, `threads` the threads that are bound to it.
    """

    profile: str
    overrides: list[str]
    codex_home: str
    clients: int
    threads: int
    codex: CodexStatus


class SidecarStatus(Result, frozen=True, kw_only=True):
    """The state of the daemon. `http` is its address over TCP, null where it does not listen
    there.
    """

    version: str
    pid: int
    uptime_s: float
    state_dir: str
    clients: int
    threads: int
    sequence: int
    codex: CodexStatus
    http: str | None = None
    profiles: list[ProfileStatus] = []


class ShutdownParams(Params, frozen=True, kw_only=True):
    """`whenIdle`: only if no turn, operation or background terminal of any thread is under way, and
    all that was recorded is durable; else nothing is done.
    """

    when_idle: bool = False


class ShutdownResult(Result, frozen=True, kw_only=True):
    """`stopping` is false where `whenIdle` was asked for and something is under way."""

    stopping: bool = True


class LoginUrlParams(Params, frozen=True, kw_only=True):
    """`listen`: open a loopback address for HTTP if there is none yet. `ownHome`: the page uses the
    Codex home that this client uses, not the daemon's own; only a daemon that runs in the
    background allows that.
    """

    listen: bool = False
    own_home: bool = False


class LoginUrl(Result, frozen=True, kw_only=True):
    """`url` logs in the first browser that opens it, within `expiresInS` seconds. `codexHome` is
    the Codex home that its page uses.
    """

    url: str
    expires_in_s: float
    codex_home: str | None = None


class MetricsParams(Params, frozen=True, kw_only=True):
    """`format` "prometheus" adds the text that Prometheus reads."""

    format: Literal["json", "prometheus"] = "json"


class MetricSample(Result, frozen=True, kw_only=True):
    """One number. Of a histogram: `name` ends in `_bucket` (label `le`: at most so many seconds),
    `_count` or `_sum`.
    """

    name: str
    labels: dict[str, str]
    value: float


class MetricFamily(Result, frozen=True, kw_only=True):
    """The samples of one metric. `kind`: a counter only grows, from 0 at the daemon's start."""

    name: str
    kind: MetricKind
    help: str
    samples: list[MetricSample]


class MetricsResult(Result, frozen=True, kw_only=True):
    """The metrics of the daemon. `text` is null unless it was requested."""

    families: list[MetricFamily]
    text: str | None


class AnswerIgnored(Result, frozen=True, kw_only=True):
    """The client's answer to a question of the agent was ignored: the question was answered,
    resolved or expired before, or was never asked.
    """

    reason: str
    request_id: str | int | None
