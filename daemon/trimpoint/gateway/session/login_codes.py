"""One-time login codes, which a browser opened by the owner exchanges for its login."""

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
    """The login codes that were issued. Only their hashes are kept, and of the used ones for how
    long they are remembered.
    """

    def __init__(self) -> None:
        self._logins: dict[bytes, OneLogin] = {}
        self._used: dict[bytes, float] = {}

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
        if login is None or login.expires_s <= now_s:
            return None
        while len(self._used) >= _MAX_CODES:
            del self._used[next(iter(self._used))]
        self._used[_hashed(code)] = now_s
        return login

    def used_since_s(self, code: str, now_s: float) -> float | None:
        """Returns how many seconds ago a code was used, or None if it was not, or that is
        forgotten.
        """
        used_at = self._used.get(_hashed(code))
        return now_s - used_at if used_at is not None else None


def _hashed(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
