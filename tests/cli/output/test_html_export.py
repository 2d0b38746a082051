"""A thread as one HTML file: what is in it, and that nothing in it acts."""

import random
import re
from html.parser import HTMLParser

import pytest
from trimpoint.cli.views.html_export import html
from trimpoint.core.views.export import Heading
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from tests.faces import hostile as generated

AT = "2026-01-01T10:20:30.000Z"
HEADING = Heading("thread-1", "A <b>name</b>\nof two lines", "/work", AT)
DOT = "data:image/png;base64,iVBORw0KGgo="
HOSTILE = (
    "<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "![x](https://tracker.invalid/a.png)",
    '<img src=x onerror="alert(1)">',
    "</main><iframe src=//a.invalid>",
    "`</style><script>1</script>`",
    "```html\n<svg onload=alert(1)>\n```",
    "<!-- --><base href=//a.invalid>",
    "|a|b|\n|-|-|\n|<form action=//a.invalid>|x|",
    '" autofocus onfocus="alert(1)',
    "&lt;script&gt;",
)
ACTS = frozenset({"script", "iframe", "object", "embed", "form", "base", "link", "svg", "input"})


def message(role: str, text: str, *, trimmed: bool = False, **detail: object) -> TimelineMessage:
    return TimelineMessage(
        id="m", turn_id="t", role=role, text=text, created_at=AT, trimmed=trimmed,
        trim_point_id=None, detail=detail or None,
    )  # fmt: skip


def activity(name: str, title: str, **detail: object) -> TimelineActivity:
    return TimelineActivity(
        id="a", turn_id="t", activity=name, title=title, created_at=AT, trimmed=False,
        trim_point_id=None, detail=detail,
    )  # fmt: skip


class Tags(HTMLParser):
    """Collects the elements with their attributes, as a browser would see them."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def written(*entries: TimelineEntry) -> str:
    return "".join(html(HEADING, entries))


def test_it_reads_from_the_first_prompt_to_the_last_answer_with_the_trims_between() -> None:
    document = written(
        message("user", "What is *it*?", trimmed=True),
        message("assistant", "It is *this*."),
        activity("commandExecution", "ls", command="ls -l", aggregatedOutput="a < b"),
        activity("fileChange", "a.txt", changes=[{"path": "a.txt", "diff": "+new"}]),
        ContextTrimPointDivider(
            trim_point_id="p", label="Earlier messages", hidden_message_count=2, expanded=False,
            trim_kind="boundary",
        ),
        ContextSummaryBanner(trim_point_id="p", header="Context compacted", summary="- one"),
        message("assistant", "The end."),
    )  # fmt: skip
    parts = [
        "<title>A &lt;b&gt;name&lt;/b&gt; of two lines</title>",
        "no longer in the context",
        "What is *it*?",
        "<em>this</em>",
        "ls -l",
        "a &lt; b",
        "a.txt\n+new",
        "Earlier messages: 2, not shown",
        "Context compacted",
        "<li>one</li>",
        "The end.",
    ]
    assert [document.index(part) for part in parts] == sorted(map(document.index, parts))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_of_the_conversation_acts(hostile: str) -> None:
    document = written(
        message("user", hostile, content=[{"url": hostile}]),
        message("assistant", hostile),
        message(hostile, hostile),
        activity("commandExecution", hostile, command=hostile, aggregatedOutput=hostile),
        activity("fileChange", hostile, changes=[{"path": hostile, "diff": hostile}]),
        ContextSummaryBanner(trim_point_id="p", header=hostile, summary=hostile),
    )
    assert_harmless(document)


def test_no_mixture_of_it_acts_either() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        text = "".join(chance.choices([*HOSTILE, "\n", "\n\n", "> ", "- ", "*", "`"], k=8))
        assert_harmless(written(message("assistant", text), message("user", text)))
        assert_harmless(written(generated.entry(chance)))


def assert_harmless(document: str) -> None:
    for tag, attributes in Tags(document).found:
        assert tag not in ACTS, tag
        assert not [name for name in attributes if name.startswith("on")], attributes
        source = attributes.get("src") or attributes.get("href") or ""
        assert not re.match(r"\s*(javascript|vbscript|file|data:(?!image/))", source, re.I), source
        assert tag != "img" or source.startswith("data:image/"), source


def test_images_of_a_prompt_are_in_the_file_itself() -> None:
    urls = [DOT, "https://a.invalid/x.png", "data:text/html,x", f'{DOT}" onload="x', f"{DOT}=A"]
    document = written(message("user", "Look.", content=[{"url": url} for url in urls]))
    assert re.findall(r'<img [^>]*src="([^"]*)"', document) == [DOT]


def test_a_new_file_which_codex_sends_as_bare_text_is_shown_as_added_lines() -> None:
    change = {"path": "a.txt", "kind": {"type": "add"}, "diff": "one\ntwo\n"}
    assert "<pre>a.txt\n+one\n+two</pre>" in written(activity("fileChange", "a", changes=[change]))
