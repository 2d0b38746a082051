"""One-time codes, with which a browser that was opened by the owner gets its cookie."""

import hashlib
import secrets

LIFETIME_S = 120.0
_MAX_CODES = 16


class LoginCodes:
    """Codes that were given out and not yet used; only their hashes are kept."""

    def __init__(self) -> None:
        self._expiries: dict[bytes, float] = {}

    def new(self, now_s: float) -> str:
        """Return a code that is good once, until `LIFETIME_S` from now."""
        code = secrets.token_urlsafe(32)
        while len(self._expiries) >= _MAX_CODES:
            del self._expiries[next(iter(self._expiries))]
        self._expiries[_hashed(code)] = now_s + LIFETIME_S
        return code

    def are_open(self, now_s: float) -> bool:
        """Returns whether a browser may still come with a code."""
        return any(expiry > now_s for expiry in self._expiries.values())

    def use(self, code: str, now_s: float) -> bool:
        """Returns whether a code is good; it is not a second time."""
        return self._expiries.pop(_hashed(code), 0.0) > now_s


def _hashed(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
