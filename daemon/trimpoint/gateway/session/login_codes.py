"""One-time codes, with which a browser that was opened by the owner gets its cookie."""

import hashlib
import secrets
from typing import NamedTuple

LIFETIME_S = 120.0
_MAX_CODES = 16


class OneLogin(NamedTuple):
    """The login that a code stands for. `codex_home` is the home of Codex that the page uses, the
    daemon's own if it is None.
    """

    expires_s: float
    codex_home: str | None


class LoginCodes:
    """Codes that were given out and not yet used; only their hashes are kept."""

    def __init__(self) -> None:
        self._logins: dict[bytes, OneLogin] = {}

    def new(self, now_s: float, codex_home: str | None = None) -> str:
        """Return a code that is good once, until `LIFETIME_S` from now."""
        code = secrets.token_urlsafe(32)
        while len(self._logins) >= _MAX_CODES:
            del self._logins[next(iter(self._logins))]
        self._logins[_hashed(code)] = OneLogin(now_s + LIFETIME_S, codex_home)
        return code

    def are_open(self, now_s: float) -> bool:
        """Returns whether a browser may still come with a code."""
        return any(login.expires_s > now_s for login in self._logins.values())

    def use(self, code: str, now_s: float) -> OneLogin | None:
        """Returns what a code stands for, None when it is not good; it is not a second time."""
        login = self._logins.pop(_hashed(code), None)
        return login if login is not None and login.expires_s > now_s else None


def _hashed(code: str) -> bytes:
    return hashlib.sha256(code.encode()).digest()
