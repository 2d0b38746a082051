"""Defines the result of a check, and the installation that checks read."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from errno import errorcode
from pathlib import Path
from typing import Any, Literal, LiteralString, NamedTuple, TypeAlias

from trimpoint_protocol.locations import HomeUnknown, home

from trimpoint.config.sections import Config

Status: TypeAlias = Literal["ok", "warn", "fail"]


@dataclass(frozen=True)
class Finding:
    """One line of the result. `hint` tells what to do, and `facts` has the same information for
    scripts. `kind` says what is wrong in words of this program alone, without anything that was
    read: a type checker refuses others.
    """

    status: Status
    text: str
    hint: str = ""
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    kind: LiteralString = ""


def ok(text: str, **facts: Any) -> Finding:
    """Returns a finding that needs no action."""
    return Finding("ok", text, facts=facts)


def warn(kind: LiteralString, text: str, hint: str, /, **facts: Any) -> Finding:
    """Returns a finding about something that works, but not as one may expect."""
    return Finding("warn", text, hint, facts, kind)


def fail(kind: LiteralString, text: str, hint: str, /, **facts: Any) -> Finding:
    """Returns a finding about something that does not work."""
    return Finding("fail", text, hint, facts, kind)


@dataclass(frozen=True)
class Installation:
    """The effective settings, combined from flags, environment and file as a daemon combines
    them.
    """

    config: Config
    config_path: Path
    state_dir: Path
    socket: Path
    environ: Mapping[str, str]
    flags: Mapping[str, str]
    """The values given by flags, by the key of the configuration."""
    config_problem: str | None = None
    """Why the file cannot be used, in which case `config` has the defaults; otherwise None."""

    @property
    def codex_home(self) -> Path:
        """Returns the folder in which Codex keeps its login and threads."""
        named = self.environ.get("CODEX_HOME")
        return Path(named) if named else home(self.environ) / ".codex"


class Check(NamedTuple):
    """A check with its name. `run` yields at least one finding."""

    name: str
    run: Callable[[Installation], Iterable[Finding]]


class CheckResult(NamedTuple):
    """A finding, and the name of the check that made it."""

    check: str
    finding: Finding


def examine(checks: Iterable[Check], installation: Installation) -> list[CheckResult]:
    """Runs all checks in order, and returns their findings. A check that raises an `OSError` yields
    a finding about that.
    """
    results: list[CheckResult] = []
    for check in checks:
        try:
            results += [CheckResult(check.name, finding) for finding in check.run(installation)]
        except NotADirectoryError:
            # The check of that folder reports it, with a hint.
            results.append(
                CheckResult(check.name, ok("not checked, because its folder is not a folder"))
            )
        except HomeUnknown as error:
            results.append(
                CheckResult(check.name, fail("no home folder", str(error).rstrip("."), "Set HOME."))
            )
        except OSError as error:
            problem = (
                f"could not be checked: {error.filename or ''} {error.strerror or error}".replace(
                    "  ", " "
                )
            )
            results.append(
                CheckResult(
                    check.name,
                    fail(
                        "not to be read",
                        problem,
                        "Check who owns it and who may read it.",
                        error=errorcode.get(error.errno or 0),
                    ),
                )
            )
    return results


def max_severity(results: Iterable[CheckResult]) -> Status:
    """Returns the highest severity of all results."""
    found = {result.finding.status for result in results}
    return "fail" if "fail" in found else "warn" if "warn" in found else "ok"
