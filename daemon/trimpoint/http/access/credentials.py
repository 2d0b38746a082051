"""The credentials of requests over TCP: the token, and the cookie that a browser gets for it. Pure.

Tokens are compared by their SHA-256, in constant time. The cookie is signed with the token, so it
is valid across restarts of the daemon and invalid after the token was replaced.
"""

import base64
import hashlib
import hmac
from typing import NamedTuple

MIN_TOKEN_LENGTH = 32
COOKIE_LIFETIME_S = 30 * 24 * 3600


class Cookie(NamedTuple):
    """The content of a cookie; `codex_home` as in `Credentials.new_cookie`."""

    codex_home: str | None


class Credentials:
    """Creates and verifies the credentials that belong to `token`."""

    def __init__(self, token: str) -> None:
        self._key = token.encode()
        self._digest = hashlib.sha256(self._key).digest()
        # Cookies are not kept apart by port: daemons on one machine need names of their own.
        self.cookie_name = f"trimpoint-{hashlib.sha256(b'name' + self._key).hexdigest()[:8]}"

    def accepts_bearer(self, authorization: str) -> bool:
        """Returns whether an `Authorization` header contains the token."""
        scheme, _, token = authorization.partition(" ")
        digest = hashlib.sha256(token.strip().encode()).digest()
        return hmac.compare_digest(digest, self._digest) and scheme.lower() == "bearer"

    def new_cookie(self, now_s: int, codex_home: str | None = None) -> str:
        """Returns the value of a cookie that is valid for `COOKIE_LIFETIME_S` seconds.

        :param codex_home: the Codex home that pages with this cookie use; None for the daemon's
            own.
        """
        signed = str(now_s + COOKIE_LIFETIME_S)
        if codex_home is not None:
            signed = f"{signed}.{base64.urlsafe_b64encode(codex_home.encode()).decode()}"
        return f"{signed}.{self._signature(signed)}"

    def good_cookie(self, header: str, now_s: int) -> Cookie | None:
        """Returns the valid cookie of this daemon in a `Cookie` header; None if there is none, or
        it has expired.
        """
        pairs = (pair.strip().partition("=") for pair in header.split(";"))
        good = (self._read(value, now_s) for name, _, value in pairs if name == self.cookie_name)
        return next((cookie for cookie in good if cookie is not None), None)

    def _read(self, value: str, now_s: int) -> Cookie | None:
        signed, _, signature = value.rpartition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(signed).encode()):
            return None
        expires, _, home = signed.partition(".")
        if not (expires.isascii() and expires.isdigit() and int(expires) > now_s):
            return None
        return Cookie(base64.urlsafe_b64decode(home).decode() if home else None)

    def _signature(self, signed: str) -> str:
        return hmac.new(self._key, b"cookie " + signed.encode(), hashlib.sha256).hexdigest()
