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
    "SidecarStatus",
]
USE_PROFILE = "sidecar/useProfile"
MetricKind = Literal["counter", "gauge", "histogram"]


CodexState = Literal["connected", "idle", "unavailable"]


class CodexStatus(Result, frozen=True, kw_only=True):
    """The child. `state`: connected | idle (not needed yet) | unavailable, with `problem` saying
    why.

    `overrides` are the `-c` values it is run with, in order.
    """

    path: str
    state: CodexState
    version: str | None
    problem: str | None
    epoch: int
    overrides: list[str]


class ProfileParams(Params, frozen=True, kw_only=True):
    """What the client's Codex is launched with beyond what the daemon is configured with.

    `overrides` are Codex's `key=value`, as for `-c`; they come after the daemon's own. `codex` is
    the path of a binary, `codexHome` a `CODEX_HOME`; both absolute.
    """

    overrides: list[str] = []
    codex: str | None = None
    codex_home: str | None = None


class ProfileChosen(Result, frozen=True, kw_only=True):
    """`profile` is the key of the launch profile; empty for the daemon's own. The rest says which
    daemon it is.
    """

    profile: str
    pid: int
    state_dir: str


class ProfileStatus(Result, frozen=True, kw_only=True):
    """A launch profile that runs beside the daemon's own. `overrides` are those that its clients
    brought, `clients` how many are connected, `threads` how many are bound to it.
    """

    profile: str
    overrides: list[str]
    codex_home: str
    clients: int
    threads: int
    codex: CodexStatus


class SidecarStatus(Result, frozen=True, kw_only=True):
    """The daemon itself. `http` is its address over TCP, null where it does not listen there."""

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


class LoginUrlParams(Params, frozen=True, kw_only=True):
    """`listen`: where HTTP is not served over TCP yet, serve it at this machine's own address.
    `ownHome`: the WebSockets of this login use the home of Codex that this client uses, not the
    daemon's own; only a daemon in the background does so.
    """

    listen: bool = False
    own_home: bool = False


class LoginUrl(Result, frozen=True, kw_only=True):
    """`url` logs in the first browser that opens it, within `expiresInS` seconds. `codexHome` is
    where the Codex of its page keeps login and threads.
    """

    url: str
    expires_in_s: float
    codex_home: str | None = None


class MetricsParams(Params, frozen=True, kw_only=True):
    """`format` prometheus asks for the text that Prometheus reads, too."""

    format: Literal["json", "prometheus"] = "json"


class MetricSample(Result, frozen=True, kw_only=True):
    """One number. Of a histogram: `name` ends in `_bucket` (label `le`: at most so many seconds),
    `_count` or `_sum`.
    """

    name: str
    labels: dict[str, str]
    value: float


class MetricFamily(Result, frozen=True, kw_only=True):
    """Numbers of one meaning. `kind`: a counter only grows, from 0 at the daemon's start."""

    name: str
    kind: MetricKind
    help: str
    samples: list[MetricSample]


class MetricsResult(Result, frozen=True, kw_only=True):
    """`text` is null unless it was asked for."""

    families: list[MetricFamily]
    text: str | None


class AnswerIgnored(Result, frozen=True, kw_only=True):
    """An answer to a question of the agent came to nothing: it was answered, resolved or expired
    before, or never asked.
    """

    reason: str
    request_id: str | int | None
