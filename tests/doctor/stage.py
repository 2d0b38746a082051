"""A machine made for a check of `trimpoint doctor`."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trimpoint.config.loading import parse_config
from trimpoint.config.sections import Config
from trimpoint.doctor.findings import Finding, Installation

# A program that holds a lock, and says so.
LOCKER = "import fcntl, sys, time; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print(flush=True); time.sleep(60)"


class Machine(NamedTuple):
    folder: Path

    @property
    def state_dir(self) -> Path:
        return self.folder / "state"

    @property
    def socket(self) -> Path:
        return self.folder / "run" / "t.sock"

    def installation(
        self,
        config: Config | None = None,
        text: str = "",
        flags: dict[str, str] | None = None,
        **environ: str,
    ) -> Installation:
        path = self.folder / "config.toml"
        if text:
            path.write_text(text)
            config = parse_config(text, str(path))
        home = {
            "HOME": str(self.folder / "home"),
            "CODEX_HOME": str(self.folder / "codex-home"),
            "PATH": str(self.folder / "bin"),
        }
        return Installation(
            config or Config(), path, self.state_dir, self.socket, home | environ, flags or {}
        )

    def make(self, *names: str) -> None:
        for name in names:
            (self.folder / name).mkdir(mode=0o700)


def sole(findings: Iterator[Finding]) -> Finding:
    [finding] = findings
    assert finding.status == "ok" or finding.hint, (
        "whoever is told what is wrong is told what to do"
    )
    return finding


def program(folder: Path, name: str, script: str) -> Path:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
