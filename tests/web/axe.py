"""axe-core, which looks for what keeps people out; it comes from the packages of
`web/package-lock.json`.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.web.browser import REQUIRED

AXE = Path(__file__).parents[2] / "web" / "node_modules" / "axe-core" / "axe.min.js"

needs_axe = pytest.mark.skipif(
    not AXE.exists() and not REQUIRED, reason="axe-core is not installed"
)


async def findings(page: Any) -> list[str]:
    """Returns axe's findings in a page or a frame, one line each."""
    # The page's own policy lets no script in; axe comes by the debugger, as it would by a person.
    await page.evaluate(AXE.read_text(encoding="utf-8") + "\nundefined;")
    result = await page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in result["violations"]
        for node in one["nodes"]
    ]
