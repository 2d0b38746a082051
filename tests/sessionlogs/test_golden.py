"""The unified form of sessions that the real programs wrote, word for word.

`python -m tests.sessionlogs.test_golden` writes the files anew; look at the difference before you
keep it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sessionlogs.sessions import FIXTURES, lines_of, sessions_in

GOLDEN = Path(__file__).parent / "golden"
SCENES = (
    "codex-0.171.0/compacted-by-hand",
    "codex-0.171.0/compacted-by-hand-sealed",
    "codex-0.171.0/compacted-before-a-turn",
    "codex-0.171.0/reverted-behind-a-compaction",
    "codex-0.171.0/forked",
    "codex-0.171.0/compressed",
    "codex-0.171.0/given-a-summary-sealed",
    "codex-0.171.0/migrated",
    "codex-0.171.0/only-migrated",
    "codex-0.171.0/with-a-summary-of-another-version",
    "codex-0.171.0/with-sub-agents",
    "claude-code-2.1.197/compacted-by-hand",
    "claude-code-2.1.197/cleared",
    "claude-code-2.1.332/branched",
    "claude-code-2.1.332/cleared",
    "claude-code-2.1.332/compacted-automatically",
    "claude-code-2.1.332/forked",
    "claude-code-2.1.332/rewound-behind-a-compaction",
    "claude-code-2.1.332/torn-within-a-summary",
    "gemini-cli-0.61.0/compressed",
    "gemini-cli-0.61.0/resumed",
    "gemini-cli-0.61.0/rewound",
    "gemini-cli-0.61.0/saved-and-resumed",
)


def unified(scene: str) -> list[dict[str, Any]]:
    """The records of all sessions of a scene, without what depends on where the fixtures are."""
    records: list[dict[str, Any]] = []
    for session in sessions_in(FIXTURES / scene):
        lines = lines_of(session)
        lines[0]["session"]["files"] = [Path(one).name for one in lines[0]["session"]["files"]]
        del lines[-1]["digest"]
        records += lines
    return records


def golden_file(scene: str) -> Path:
    return GOLDEN / f"{scene.replace('/', '-')}.ndjson"


@pytest.mark.parametrize("scene", SCENES)
def test_the_unified_form_is_what_it_was(scene: str) -> None:
    expected = [json.loads(line) for line in golden_file(scene).read_text().splitlines()]
    assert unified(scene) == expected


if __name__ == "__main__":
    GOLDEN.mkdir(exist_ok=True)
    for one in SCENES:
        text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in unified(one))
        golden_file(one).write_text(text)
