"""One-time login codes, which a browser opened by the owner exchanges for its cookie."""

import hashlib
import secrets
from typing import NamedTuple

LIFETIME_S = 120.0
_MAX_CODES = 16


class OneLogin(NamedTuple):
    """The login that a code stands for: when it expires, in seconds of a monotonic clock, and the
    `CODEX_HOME` for the page, or None for the daemon's own.
    """

    expires_s: float
    codex_home: str | None


class LoginCodes:
    """The login codes that were issued and not yet used. Only their hashes are kept."""

    def __init__(self) -> None:
        self._logins: dict[bytes, OneLogin] = {}

    def new(self, now_s: float, codex_home: str | None = None) -> str:
        """Returns a new code that can be used once, within `LIFETIME_S` seconds of `now_s`. The
        oldest code is dropped when there are too many.
        """
        code = secrets.token_urlsafe(32)
        while len(self._logins) >= _MAX_CODES:
            del self._logins[next(iter(self._logins))]
        self._logins[_hashed(code)] = OneLogin(now_s + LIFETIME_S, codex_home)
        return code

    def are_open(self, now_s: float) -> bool:
        """Returns whether any code can still be used."""
        return any(login.expires_s > now_s for login in self._logins.values())

    def use(self, code: str, now_s: float) -> OneLogin | None:
        """Consumes a code, and returns its login, or None when the code is unknown, used or
        expired.
        """
        login = self._logins.pop(_hashed(code), None)
        return login if login is not None and login.expires_s > now_s else None


def _hashed(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
