"""What is asked of Codex around a start, so that it trusts no further folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from trimpoint.codex.project_trust import ProjectTrust

pytestmark = pytest.mark.anyio


class Configuration:
    """Codex's configuration, with the methods that were called."""

    def __init__(self) -> None:
        self.trusted: set[str] = set()
        self.methods: list[str] = []

    async def request(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        self.methods.append(method)
        if method == "config/value/write":
            self.trusted.clear()
            return {}
        return {"config": {"projects": {one: {"trust_level": "trusted"} for one in self.trusted}}}


async def started(
    trust: ProjectTrust, config: Configuration, params: dict[str, Any], *added: str
) -> list[str]:
    """Returns the methods that were called around a start, for which Codex writes `added`."""
    config.methods.clear()
    before = await trust.before(params)
    config.trusted.update(added)
    await trust.put_back(before)
    return list(config.methods)


async def test_a_start_for_which_codex_wrote_nothing_is_not_asked_about_again(
    tmp_path: Path,
) -> None:
    config = Configuration()
    trust = ProjectTrust(config.request)
    params = {"cwd": str(tmp_path), "sandbox": "workspace-write"}
    assert await started(trust, config, params) == ["config/read", "config/read"]
    assert await started(trust, config, params) == []
    assert await started(trust, config, {**params, "sandbox": "danger-full-access"}) != []
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    written = await started(trust, config, params, str(tmp_path))
    assert written == ["config/read", "config/read", "config/value/write"]
    assert await started(trust, config, params, str(tmp_path)) == written
    assert not config.trusted
