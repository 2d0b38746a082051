"""Proofs that a request over TCP may come in: the token, and the cookie that a browser gets for it.
Pure.

The token itself is never compared: its SHA-256 is, in constant time. The cookie is signed with the
token, so that it outlives a restart of the daemon and ends with the token.
"""

import hashlib
import hmac

MIN_TOKEN_LENGTH = 32
COOKIE_LIFETIME_S = 30 * 24 * 3600


class Credentials:
    """What the holder of `token` can show."""

    def __init__(self, token: str) -> None:
        self._key = token.encode()
        self._digest = hashlib.sha256(self._key).digest()
        # Cookies are not kept apart by port: daemons on one machine need names of their own.
        self.cookie_name = f"trimpoint-{hashlib.sha256(b'name' + self._key).hexdigest()[:8]}"

    def accepts_bearer(self, authorization: str) -> bool:
        """Returns whether an `Authorization` header has the token."""
        scheme, _, token = authorization.partition(" ")
        digest = hashlib.sha256(token.strip().encode()).digest()
        return hmac.compare_digest(digest, self._digest) and scheme.lower() == "bearer"

    def new_cookie(self, now_s: int) -> str:
        """Return the value of a cookie that is good for `COOKIE_LIFETIME_S`."""
        expires = str(now_s + COOKIE_LIFETIME_S)
        return f"{expires}.{self._signature(expires)}"

    def accepts_cookies(self, header: str, now_s: int) -> bool:
        """Returns whether a `Cookie` header has a cookie of ours that has not expired."""
        return any(
            self._is_good(value, now_s)
            for name, _, value in (pair.strip().partition("=") for pair in header.split(";"))
            if name == self.cookie_name
        )

    def _is_good(self, value: str, now_s: int) -> bool:
        expires, _, signature = value.partition(".")
        if not hmac.compare_digest(signature.encode(), self._signature(expires).encode()):
            return False
        return expires.isascii() and expires.isdigit() and int(expires) > now_s

    def _signature(self, expires: str) -> str:
        return hmac.new(self._key, b"cookie " + expires.encode(), hashlib.sha256).hexdigest()
