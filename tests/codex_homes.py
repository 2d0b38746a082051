"""Codex homes for tests, in which Codex has been once.

The first start in an empty home makes databases and unpacks skills, which takes as long again as
the start itself. So a Codex does it once for each test process, and tests get copies.
"""

import atexit
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing
from functools import cache
from importlib import import_module
from pathlib import Path

from trimpoint.testkit import codex_environment, throwaway_codex_home

from tests.deadlines import STEP_S

BUNDLED_CODEX = Path(import_module("codex_cli_bin").bundled_codex_path())


@asynccontextmanager
async def used_codex_home(codex: Path) -> AsyncGenerator[Path]:
    """Yields a throw-away home that this Codex has started in, and where it has no thread yet."""
    async with throwaway_codex_home() as home:
        shutil.copytree(_template(codex, home.parent), home, dirs_exist_ok=True)
        yield home


def _remove(home: Path, made_by: int) -> None:
    """Removes a template, unless this is a fork of the process that made it and still uses it."""
    if os.getpid() == made_by:
        shutil.rmtree(home, ignore_errors=True)


@cache
def _template(codex: Path, parent: Path) -> Path:
    home = Path(tempfile.mkdtemp(prefix="template-", dir=parent))
    atexit.register(_remove, home, os.getpid())
    request = {
        "id": 1,
        "method": "initialize",
        "params": {"clientInfo": {"name": "template", "version": "1"}},
    }
    command = [str(codex), "app-server", "-c", "features.plugins=false"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=codex_environment(home),
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
        assert b'"result"' in process.stdout.readline()
        process.stdin.close()
        process.stdout.read()
        process.wait(STEP_S)
    # It leaves write-ahead logs behind. The last one who closes a database merges its log.
    for database in home.glob("*.sqlite"):
        with closing(sqlite3.connect(database)) as connection:
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    # These belong to that one process and home.
    shutil.rmtree(home / "tmp", ignore_errors=True)
    (home / "installation_id").unlink(missing_ok=True)
    return home
