"""An older version of trimpoint: this one with another number, or one that is named."""

import os
import shutil
from pathlib import Path

import trimpoint

from tests.cli.stage import ROOT, CliHarness

OLD = "0.0.9"
# A folder with the packages of an older version, for example an unpacked wheel. Its version is set
# to `OLD`.
VARIABLE = "TRIMPOINT_TEST_OLD"


def old_environment(stage: CliHarness, folder: Path) -> dict[str, str]:
    """Returns the environment in which trimpoint is an older version."""
    here = folder / "old"
    named = os.environ.get(VARIABLE)
    daemon = Path(named) / "trimpoint" if named else Path(trimpoint.__file__).parent
    protocol = Path(named) if named else ROOT / "protocol"
    ignored = shutil.ignore_patterns("__pycache__")
    for package in (daemon, protocol / "trimpoint_protocol"):
        shutil.copytree(package, here / package.name, ignore=ignored)
    source = here / "trimpoint" / "__init__.py"
    source.write_text(source.read_text().replace(trimpoint.__version__, OLD))
    return stage.environment | {"PYTHONPATH": str(here)}
