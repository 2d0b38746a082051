"""docs/codex-versions.md says which methods older versions of Codex lack: held against the protocol
that the Codex of these tests describes itself. `scripts/test-versions` does so with other versions.
"""

import re
from pathlib import Path

import pytest
from trimpoint.codex.appserver.versions import binary_version

from tests.e2e.conftest import CODEX_BIN
from tests.gateway.codex_schema import CodexSchema

PAGE = Path(__file__).parents[3] / "docs" / "codex-versions.md"
# The first version of the table above that has the method, and the method, or the beginning of several.
ROW = re.compile(r"^\| (\d+)\.(\d+)\.(\d+) \| `([a-zA-Z]+/[a-zA-Z/]+)(\*?)` \| ", re.MULTILINE)


@pytest.mark.codex
def test_the_methods_that_older_versions_lack_are_those_of_the_page(tmp_path: Path) -> None:
    rows = ROW.findall(PAGE.read_text())
    assert len(rows) > 5
    version = binary_version(CODEX_BIN)
    assert version is not None
    known = CodexSchema.of(str(CODEX_BIN), tmp_path).messages("ClientRequest")
    for *first, method, more in rows:
        is_there = any(one == method or (more and one.startswith(method)) for one in known)
        assert is_there == (version >= tuple(map(int, first))), (method, version)
