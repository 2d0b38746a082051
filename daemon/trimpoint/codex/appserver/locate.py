"""Finds the native Codex binary.

Always true: the result is never trimpoint itself and never npm's node wrapper. A wrapper does not
pass on signals: killing it orphans the native child, which keeps the pipes and the thread's writer
lock (measured: npm 0.171). Trimpoint may be installed under the name `codex`, and starting that
would start daemons without end. A path that a person gave, by flag or in the configuration, is used
or refused, but never replaced by another.
"""

import importlib
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from trimpoint.extras import install_command
from trimpoint.programs import folders_of_path
from trimpoint.system import SYSTEM

CodexSource = Literal["flag", "config", "path", "bundled"]

_NATIVE_MAGICS = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_SCRIPT_HEAD_BYTES = 16 * 1024
_PACKAGE_NAME = "@openai/codex"

# A script is trimpoint's launcher if it imports trimpoint, runs `-m trimpoint`, or executes a
# program of that name. Other occurrences do not count, because a project folder may be called
# trimpoint.
_TRIMPOINT_SCRIPT = re.compile(
    rb"^\s*(?:from|import)\s+trimpoint\b|-m\s+trimpoint\b|\bexec\s[^\n]*?\btrimpoint[\"']?(?=\s|$)",
    re.MULTILINE,
)
# pnpm and yarn put a shell script into `.bin` where npm puts a link.
_SHELL_SHIM_TARGET = re.compile(rb"[\"']?([^\s\"']*@openai/codex/bin/codex\.js)")


class CodexBinary(msgspec.Struct, frozen=True):
    """A native binary, or a script that a person chose, and where it was found."""

    path: Path
    source: CodexSource


class Attempt(msgspec.Struct, frozen=True):
    """A place that was searched, and the reason why it has no usable binary."""

    place: str
    reason: str


class CodexUnusable(Exception):
    """Raised when the path that a person gave, by flag or in the configuration, cannot be used."""

    def __init__(self, path: Path, source: CodexSource, reason: str) -> None:
        super().__init__(path, source, reason)
        self.path = path
        self.source = source
        self.reason = reason

    @property
    def hint(self) -> str:
        """Returns advice for a person."""
        named = "--codex" if self.source == "flag" else "the configured codex path"
        return f"Let {named} name the real Codex binary, or leave it out to have one searched for."

    def __str__(self) -> str:
        return f"{self.path} cannot be used as Codex: {self.reason}"


class CodexNotFound(Exception):
    """Raised when no path was given, and none of the searched places has a usable Codex."""

    def __init__(self, attempts: tuple[Attempt, ...]) -> None:
        super().__init__(attempts)
        self.attempts = attempts

    @property
    def hint(self) -> str:
        """Returns advice for a person, and the searched places, each on a line."""
        tried = "".join(f"\n  {attempt.place}: {attempt.reason}" for attempt in self.attempts)
        return (
            "Install Codex: npm install -g @openai/codex\n"
            f"Or the Codex that is an extra of trimpoint: {install_command('codex')}\n"
            f"Or name its binary with --codex. Tried:{tried}"
        )

    def __str__(self) -> str:
        return "no usable Codex binary was found"


class _Unfit(Exception):
    """Raised when a candidate cannot be used; the argument is the reason, for people."""


def find_codex(
    *,
    flag: Path | None = None,
    configured: Path | None = None,
    environ: Mapping[str, str] = os.environ,
) -> CodexBinary:
    """Returns the Codex binary to use: from the flag, the configuration, `PATH`, or the bundled
    PyPI package, in that order (docs/spec/running.md).

    :param environ: the environment whose `PATH` is searched.
    :raises CodexUnusable: when a path was given that is missing, not executable, trimpoint itself,
        or a wrapper without its binary.
    :raises CodexNotFound: when no path was given, and neither `PATH` nor the bundled package has a
        usable binary.
    """
    if flag is not None:
        return _named(flag, "flag")
    if configured is not None:
        return _named(configured, "config")
    attempts: list[Attempt] = []
    found = _on_path(environ, attempts) or _bundled(attempts)
    if found is None:
        raise CodexNotFound(tuple(attempts))
    return found


def _named(path: Path, source: CodexSource) -> CodexBinary:
    try:
        return CodexBinary(native_codex(path.expanduser()), source)
    except _Unfit as unfit:
        raise CodexUnusable(path, source, str(unfit)) from None


def _on_path(environ: Mapping[str, str], attempts: list[Attempt]) -> CodexBinary | None:
    found = False
    for candidate in _candidates(environ):
        found = True
        try:
            return CodexBinary(native_codex(candidate), "path")
        except _Unfit as unfit:
            attempts.append(Attempt(str(candidate), str(unfit)))
    if not found:
        attempts.append(Attempt("PATH", "no program named codex"))
    return None


def _candidates(environ: Mapping[str, str]) -> Iterator[Path]:
    for folder in folders_of_path(environ):
        candidate = Path(folder) / "codex"
        # Not `Path.is_file`, which raises where a folder cannot be entered or a name is too long.
        if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            yield candidate


def _bundled(attempts: list[Attempt]) -> CodexBinary | None:
    try:
        bundle = importlib.import_module("codex_cli_bin")
    except ImportError:
        attempts.append(Attempt("bundled package", "openai-codex-cli-bin is not installed"))
        return None
    try:
        return CodexBinary(native_codex(Path(bundle.bundled_codex_path())), "bundled")
    except (FileNotFoundError, _Unfit) as unfit:
        attempts.append(Attempt("bundled package", str(unfit)))
        return None


def native_codex(candidate: Path) -> Path:
    """Returns the native binary for a candidate: the candidate itself, or the binary that a node
    wrapper starts.

    Any other script is returned unchanged, as a person's own launcher of the binary.
    """
    real = _program(candidate)
    head = _head(real)
    if _is_trimpoint(real, head):
        raise _Unfit("it is trimpoint itself")
    if head.startswith(_NATIVE_MAGICS):
        return real
    return _behind_wrapper(real, head) or real


def _program(candidate: Path) -> Path:
    # A link keeps working when its target's folder changes, but the wrapper's package is found from
    # the real path.
    real = candidate.resolve()
    if not os.path.isfile(real):
        raise _Unfit("there is no such file")
    if not os.access(real, os.X_OK):
        raise _Unfit("it is not executable")
    return real


def _head(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_SCRIPT_HEAD_BYTES)
    except OSError:
        raise _Unfit("it cannot be read") from None


def _is_trimpoint(real: Path, head: bytes) -> bool:
    if sys.argv[0] and real == Path(sys.argv[0]).resolve():
        return True
    return head.startswith(b"#!") and _TRIMPOINT_SCRIPT.search(head) is not None


def _behind_wrapper(real: Path, head: bytes) -> Path | None:
    """Returns the native binary of a node wrapper, or of a shell shim for one; None if the script
    is neither.
    """
    shim = _SHELL_SHIM_TARGET.search(head)
    if real.name != "codex.js" and shim is not None:
        target = shim.group(1).decode(errors="replace").removeprefix("$basedir/")
        return _vendored((real.parent / target).resolve())
    return _vendored(real) if _runs_in_node(real, head) else None


def _runs_in_node(real: Path, head: bytes) -> bool:
    interpreter = head.partition(b"\n")[0].removeprefix(b"#!").split()
    return real.suffix == ".js" or b"node" in {word.rpartition(b"/")[2] for word in interpreter}


def _vendored(wrapper: Path) -> Path:
    package = wrapper.parent.parent
    for native in _vendored_places(package):
        if native.is_file() and os.access(native, os.X_OK):
            return native.resolve()
    raise _Unfit(
        f"it is a node wrapper, and {_platform_package()} with its native binary is not installed"
    )


def _vendored_places(package: Path) -> Iterator[Path]:
    """Yields the paths at which releases of the npm package keep the binary, the newest layout
    first (measured: 0.171).
    """
    triple = _target_triple()
    modules = [folder / "node_modules" for folder in (package, *package.parents)]
    vendors = [folder / _platform_package() / "vendor" for folder in modules]
    for vendor in (*vendors, package / "vendor"):
        yield vendor / triple / "bin" / "codex"
        yield vendor / triple / "codex" / "codex"
    yield package / "bin" / f"codex-{triple}"


def _arm() -> bool:
    return platform.machine().lower() in {"arm64", "aarch64"}


def _platform_package() -> str:
    return f"{_PACKAGE_NAME}-{SYSTEM.naming.package}-{'arm64' if _arm() else 'x64'}"


def _target_triple() -> str:
    return f"{'aarch64' if _arm() else 'x86_64'}-{SYSTEM.naming.triple}"
