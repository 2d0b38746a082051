"""Decides which requests are allowed. Pure: takes a request and the time, returns a refusal or
None.

The rules follow from what a web page can do. A page of any site can send requests to this machine,
but it cannot choose `Host`, `Origin`, `Sec-Fetch-Site` or `Authorization`. `Host` blocks DNS
rebinding, `Origin` and `Sec-Fetch-Site` block pages of other sites, and the token blocks other
users of the machine.
"""

from typing import Protocol

from trimpoint_protocol.errors import Reason

from trimpoint.gateway.session.requests.errors import wire_error
from trimpoint.http.access.credentials import Credentials, bearer_of
from trimpoint.http.exchange import Request
from trimpoint.http.problems import NO_TOKEN, HttpReason, Problem, problem, problem_of
from trimpoint.transport.peer_process import Distrust

LOOPBACK_NAMES = frozenset({"127.0.0.1", "localhost", "[::1]"})
SAFE_METHODS = frozenset({"GET", "HEAD"})
# Answered without proof, because they say nothing.
OPEN_PATHS = frozenset({"/healthz", "/readyz"})
_STATIC = ("/static/", "/docs/")
# The page itself holds no secret: what it shows comes over its WebSocket.
PAGE_PATHS = frozenset({"/", "/login"})
_OWN_SITE = frozenset({"same-origin", "none"})

_BROWSER_HINT = "Open the page with the address that `trimpoint open` prints."
_TOKEN_HINT = "Send `Authorization: Bearer` with the token that `trimpoint daemon token` prints."


class Admission(Protocol):
    """The rules of one listener."""

    def refusal(self, request: Request, now_s: int) -> Problem | None:
        """Returns the error with which a request is refused; None if it is allowed."""
        ...


class UnixAdmission:
    """The rules of the Unix socket. The kernel has confirmed that the peer is this user, and
    browsers cannot connect to Unix sockets.
    """

    def refusal(self, request: Request, now_s: int) -> Problem | None:
        del now_s
        return _foreign_page(request, frozenset())


class UntrustedAdmission:
    """Refuses everything of a process that may not be a client."""

    def __init__(self, distrust: Distrust) -> None:
        self._refusal = untrusted(distrust)

    def refusal(self, request: Request, now_s: int) -> Problem | None:
        del request, now_s
        return self._refusal


class TcpAdmission:
    """The rules of a TCP listener. `hosts` are the allowed host names beside the loopback ones.

    With `distrust` of a confined process, the token is refused, and a browser's login is not:
    browsers have sandboxes of their own, and every sandboxed program can read the file of the
    token. Another user is answered only under one of the `hosts`, as a proxy, with proof.
    """

    def __init__(
        self, credentials: Credentials, hosts: frozenset[str], distrust: Distrust | None = None
    ) -> None:
        self._credentials = credentials
        self._hosts = frozenset(name.lower() for name in hosts)
        self._distrust = distrust

    def refusal(self, request: Request, now_s: int) -> Problem | None:
        host = request.headers.get("host", "").lower()
        name = _name_of(host)
        if name not in LOOPBACK_NAMES | self._hosts:
            hint = (
                "Call it 127.0.0.1 or localhost, or add the name to hosts in the [http] table of "
                "the configuration."
            )
            return problem(
                HttpReason.WRONG_HOST,
                f"The daemon does not answer to the host name {name[:100]!r}.",
                hint,
            )
        schemes = ("http", "https") if name in self._hosts else ("http",)
        if (
            found := _foreign_page(request, frozenset(f"{scheme}://{host}" for scheme in schemes))
        ) is not None:
            return found
        if request.path in OPEN_PATHS:
            return None
        distrust = self._distrust
        if distrust is not None and distrust.kind == "user":
            if name not in self._hosts:
                return untrusted(distrust)
            distrust = None
        return None if _is_page(request) else self._unproven(request, now_s, distrust)

    def _unproven(self, request: Request, now_s: int, distrust: Distrust | None) -> Problem | None:
        if self._credentials.login_of(request, now_s) is not None:
            return None
        if "authorization" not in request.headers:
            return problem(HttpReason.UNAUTHORIZED, NO_TOKEN, _TOKEN_HINT)
        if not self._credentials.accepts_token(bearer_of(request) or ""):
            return problem(HttpReason.UNAUTHORIZED, "The token is wrong.", _TOKEN_HINT)
        return untrusted(distrust) if distrust is not None else None


def _is_page(request: Request) -> bool:
    """Returns whether the page, one of its files, a document or a login is asked for, which need no
    proof.
    """
    is_page = request.path in PAGE_PATHS or request.path.startswith(_STATIC)
    return is_page and "upgrade" not in request.headers


def untrusted(distrust: Distrust) -> Problem:
    """Returns the refusal of a process that may not be a client."""
    return problem_of(wire_error(Reason.UNTRUSTED_CLIENT, distrust.why, distrust.hint))


def _foreign_page(request: Request, own_origins: frozenset[str]) -> Problem | None:
    origin = request.headers.get("origin")
    if origin is not None and origin.lower() not in own_origins:
        return problem(
            HttpReason.FOREIGN_ORIGIN, "Pages of other origins are not answered.", _BROWSER_HINT
        )
    site = request.headers.get("sec-fetch-site")
    if request.method not in SAFE_METHODS and site is not None and site not in _OWN_SITE:
        return problem(
            HttpReason.FOREIGN_SITE, "Pages of other sites are not answered.", _BROWSER_HINT
        )
    return None


def _name_of(host: str) -> str:
    """Returns a `Host` header without its port; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    return (
        name
        if colon and port.isascii() and port.isdigit() and (":" not in name or name.startswith("["))
        else host
    )


class MetricsAdmission:
    """The rules of the metrics listener: only `/metrics`, without a token. Its address limits who
    can connect.
    """

    def refusal(self, request: Request, now_s: int) -> Problem | None:
        del now_s
        if request.path != "/metrics":
            return problem(HttpReason.NOT_FOUND, "Metrics are at /metrics.")
        if request.method not in SAFE_METHODS:
            return problem(HttpReason.METHOD_NOT_ALLOWED, "Metrics can only be read.")
        return None
