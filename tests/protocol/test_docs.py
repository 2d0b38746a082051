"""docs/protocol.md says what the registry says, and its links lead somewhere."""

import re
from pathlib import Path

from trimpoint.cli.daemon_commands.reference import reference_page
from trimpoint.core.views.wire_events import payload_types
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import METHODS, NOTIFICATIONS

PAGE = Path(__file__).parents[2] / "docs" / "protocol.md"


def test_the_page_is_what_the_registry_makes_of_it() -> None:
    assert PAGE.read_text(encoding="utf-8") == reference_page(), "run scripts/generate-docs"


def test_every_link_leads_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", reference_page(), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]+)\)", reference_page()))
    assert links
    assert links - anchors == set()
    assert len(headings) == len(set(headings))


def test_every_method_notification_event_and_reason_has_its_place() -> None:
    page = reference_page()
    for name in (*METHODS, *NOTIFICATIONS, *payload_types()):
        assert f"\n### `{name}`\n" in page
    for reason in Reason:
        assert f"\n| `{reason}` | " in page
