"""The file with the token, created when it is first needed, readable only by its owner."""

import os
import secrets
import stat
from contextlib import suppress
from pathlib import Path

from trimpoint.http.access.credentials import MIN_TOKEN_LENGTH, Credentials

FILE_NAME = "http-token"
_TOKEN_BYTES = 32


class TokenUnusable(Exception):
    """Raised when the file is not safe or contains no token; `hint` says what a person can do."""

    hint = "Remove it; another is made when it is next needed."

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(path, problem)
        self.path, self.problem = path, problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"


def token_at(state_dir: Path) -> str:
    """Returns the token of a state directory, created if there is none.

    :raises TokenUnusable: when other users can read the file, or it contains no token.
    :raises OSError: when the file can be neither read nor created.
    """
    path = state_dir / FILE_NAME
    try:
        return _read(path)
    except FileNotFoundError:
        _make(path)
        return _read(path)


def renew_token(state_dir: Path) -> str:
    """Replaces the token. The old one, and cookies made with it, are no longer valid.

    :raises OSError: when the file cannot be written.
    """
    path = state_dir / FILE_NAME
    path.unlink(missing_ok=True)
    return token_at(state_dir)


class CurrentCredentials:
    """The credentials of the token that the file has now.

    :raises TokenUnusable: as `token_at`, when it is made.
    """

    def __init__(self, state_dir: Path) -> None:
        self._path = state_dir / FILE_NAME
        self._token = token_at(state_dir)
        self._credentials = Credentials(self._token)
        self._seen = self._signature()

    def get(self) -> Credentials:
        """Returns the credentials: the same object until the token is another one."""
        if (seen := self._signature()) != self._seen:
            # While the file is replaced, and if it becomes unusable, the token stays as it is.
            with suppress(OSError, TokenUnusable):
                token = _read(self._path)
                self._seen = seen
                if token != self._token:
                    self._token, self._credentials = token, Credentials(token)
        return self._credentials

    def _signature(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_ino, found.st_mtime_ns


def _read(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise TokenUnusable(path, "is not a file")
        if found.st_uid != os.geteuid() or found.st_mode & 0o077:
            raise TokenUnusable(
                path, f"can be read by others (mode {stat.S_IMODE(found.st_mode):04o})"
            )
        token = os.read(fd, 4096).strip()
    finally:
        os.close(fd)
    if len(token) < MIN_TOKEN_LENGTH or not all(0x21 <= byte <= 0x7E for byte in token):
        raise TokenUnusable(path, f"holds no token of at least {MIN_TOKEN_LENGTH} characters")
    return token.decode()


def _make(path: Path) -> None:
    """Creates the file under another name and renames it, so that another process cannot read half
    a token.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(fd, "w", encoding="ascii") as file:
        file.write(f"{secrets.token_urlsafe(_TOKEN_BYTES)}\n")
    try:
        os.link(fresh, path)
    except FileExistsError:
        pass  # the other one was first
    finally:
        fresh.unlink()
