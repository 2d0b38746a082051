"""The credentials of requests over TCP: the token, and the login that a browser gets. Pure.

Tokens are compared by their SHA-256, in constant time. A login is signed with the token, so it is
valid across restarts of the daemon and invalid after the token was replaced. It is no cookie:
browsers send cookies to every port of a machine, so that a link to another server hands them over.
The page keeps it where browsers keep origins apart, and offers it as a subprotocol of its
WebSocket.
"""

import base64
import hashlib
import hmac
from typing import NamedTuple

from trimpoint.http.exchange import Request

MIN_TOKEN_LENGTH = 32
LOGIN_LIFETIME_S = 30 * 24 * 3600
PROTOCOL = "trimpoint.login."


class Login(NamedTuple):
    """What a login says; `codex_home` as in `Credentials.new_login`."""

    codex_home: str | None


class Credentials:
    """Creates and verifies the credentials that belong to `token`."""

    def __init__(self, token: str) -> None:
        self._key = token.encode()
        self._digest = hashlib.sha256(self._key).digest()

    def accepts_token(self, offered: str) -> bool:
        """Returns whether this is the token."""
        digest = hashlib.sha256(offered.encode()).digest()
        return hmac.compare_digest(digest, self._digest)

    def new_login(self, now_s: int, codex_home: str | None = None) -> str:
        """Returns a login that is valid for `LOGIN_LIFETIME_S` seconds, in characters that a
        subprotocol may have.

        :param codex_home: the Codex home that pages with this login use; None for the daemon's own.
        """
        signed = str(now_s + LOGIN_LIFETIME_S)
        if codex_home is not None:
            encoded = base64.urlsafe_b64encode(codex_home.encode()).decode().rstrip("=")
            signed = f"{signed}.{encoded}"
        return f"{signed}.{self._signature(signed)}"

    def login_of(self, request: Request, now_s: int) -> Login | None:
        """Returns the valid login that a request has as a bearer or as a subprotocol, or None."""
        offered = request.headers.get("sec-websocket-protocol", "").split(",")
        logins = [one.strip().removeprefix(PROTOCOL) for one in offered if PROTOCOL in one]
        found = (self._read(login, now_s) for login in [*logins, bearer_of(request) or ""])
        return next((login for login in found if login is not None), None)

    def _read(self, value: str, now_s: int) -> Login | None:
        signed, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(signed).encode()):
            return None
        expires, _, home = signed.partition(".")
        if not (expires.isascii() and expires.isdigit() and int(expires) > now_s):
            return None
        padding = "=" * (-len(home) % 4)
        return Login(base64.urlsafe_b64decode(home + padding).decode() if home else None)

    def _signature(self, signed: str) -> str:
        return hmac.new(self._key, b"login " + signed.encode(), hashlib.sha256).hexdigest()


def bearer_of(request: Request) -> str | None:
    """Returns what a request offers as a bearer, or None if it has no `Authorization` of that
    kind.
    """
    scheme, _, offered = request.headers.get("authorization", "").partition(" ")
    return offered.strip() if scheme.lower() == "bearer" else None
