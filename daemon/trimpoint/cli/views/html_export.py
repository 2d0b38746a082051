"""Writes a thread or a session as one HTML file that can be sent to somebody: no script, nothing
from another host, and all text of the conversation escaped. Pure.
"""

import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from html import escape
from typing import Any, assert_never

from markdown_it import MarkdownIt
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.readmodel import (
    ContextSummaryBanner,
    ContextTrimPointDivider,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

from trimpoint.cli.views.changes import diff_text, place_of
from trimpoint.cli.views.timeline_view import activity_words, markdown_parser
from trimpoint.core.views.export import SPEAKERS, Heading, divider_text

# A browser obeys it even where an escape was forgotten: no script runs, and no host is asked.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_IMAGE = re.compile(r"data:(image/(?:png|jpeg|gif|webp));base64,([A-Za-z0-9+/=]+)")
_STYLE = """\
:root {
  color-scheme: light dark;
  --quiet: #6a6f76; --line: #d9dce1; --tint: #f2f4f7; --mark: #8a5a00;
}
@media (prefers-color-scheme: dark) {
  :root { --quiet: #9aa1ab; --line: #383d45; --tint: #20242a; --mark: #e0b050; }
}
body {
  font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 2rem 1rem 4rem;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .25rem; }
header p, time, summary, .divider { color: var(--quiet); font-size: .85rem; }
header p { margin: 0; }
article { margin: 1.75rem 0; overflow-wrap: anywhere; }
article > h2 { font-size: .85rem; margin: 0 0 .25rem; }
article > h2 time { font-weight: normal; margin-left: .5rem; }
.user { background: var(--tint); border-radius: .6rem; padding: .75rem 1rem; }
.user > div { white-space: pre-wrap; }
.gone { opacity: .65; }
img { display: block; margin-top: .5rem; max-height: 24rem; max-width: 100%; }
pre {
  background: var(--tint); border-radius: .4rem; font-size: .85rem; overflow: auto;
  padding: .6rem .8rem;
}
pre, code { font-family: ui-monospace, monospace; }
table { border-collapse: collapse; }
td, th { border: 1px solid var(--line); padding: .25rem .5rem; }
details { margin: .4rem 0; } summary { cursor: pointer; overflow-wrap: anywhere; }
.summary { border-left: 3px solid var(--mark); padding-left: 1rem; }
.divider { align-items: center; display: flex; gap: .75rem; margin: 2rem 0; }
.divider::before, .divider::after { border-top: 1px solid var(--line); content: ""; flex: 1; }
"""


def html(heading: Heading, entries: Iterable[TimelineEntry]) -> Iterator[str]:
    """Yields the document in pieces. `entries` must be oldest first."""
    title = escape(" ".join((heading.name or "Conversation").split()))
    yield (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width">\n'
        f"<title>{title}</title>\n<style>\n{_STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n<h1>{title}</h1>\n"
        f"<p>{_origin(heading)}</p>\n</header>\n<main>\n"
    )
    # An image of another host would tell it who reads this; shown as text, it stays what it is.
    parser = markdown_parser().disable("image")
    for entry in entries:
        yield _entry(entry, parser)
    yield "</main>\n</body>\n</html>\n"


def _origin(heading: Heading) -> str:
    begun = f"begun {_time(heading.created_at)}" if heading.created_at else ""
    agent = heading.agent if heading.agent != "trimpoint" else ""
    return " · ".join(filter(None, (agent, escape(heading.cwd or ""), begun)))


def _entry(entry: TimelineEntry, parser: MarkdownIt) -> str:
    match entry:
        case TimelineMessage():
            return _message(entry, parser)
        case TimelineActivity():
            return _activity(entry)
        case ContextSummaryBanner():
            text = parser.render(entry.summary)
            head = escape(entry.header)
            return f'<details class="summary" open><summary>{head}</summary>\n{text}</details>\n'
        case ContextTrimPointDivider():
            words = escape(divider_text(entry))
            return f'<div class="divider" role="separator">{words}</div>\n'
        case _:
            assert_never(entry)


def _message(entry: TimelineMessage, parser: MarkdownIt) -> str:
    is_prompt = entry.role == "user"
    speaker = escape(SPEAKERS.get(entry.role, entry.role))
    classes = f"{'user' if is_prompt else 'agent'}{' gone' * entry.trimmed}"
    note = " · no longer in the context" if entry.trimmed else ""
    text = escape(entry.text.strip()) if is_prompt else parser.render(entry.text)
    images = "".join(_images(entry.detail))
    return (
        f'<article class="{classes}">\n<h2>{speaker}<time>{_time(entry.created_at)}{note}</time>'
        f'</h2>\n<div dir="auto">{text}</div>\n{images}</article>\n'
    )


def _images(detail: Any) -> Iterator[str]:
    for part in as_list(as_dict(detail).get("content")):
        found = _IMAGE.fullmatch(str(as_dict(part).get("url") or ""))
        if found is not None and _is_base64(found[2]):
            yield f'<img alt="An image of the prompt" src="{found[0]}">\n'


def _is_base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _activity(entry: TimelineActivity) -> str:
    words = escape(activity_words(entry))
    gone = ' class="gone"' if entry.trimmed else ""
    more = _more(as_dict(entry.detail))
    if not more:
        return f"<details{gone}><summary>{words}</summary></details>\n"
    return f"<details{gone}><summary>{words}</summary>\n<pre>{escape(more)}</pre>\n</details>\n"


def _more(item: dict[str, Any]) -> str:
    """Returns what a command printed, or what a change changed."""
    changes = (as_dict(change) for change in as_list(item.get("changes")))
    diffs = (f"{place_of(one)}\n{diff_text(one)}" for one in changes)
    return str(item.get("aggregatedOutput") or "") or "\n\n".join(diffs)


def _time(at: str) -> str:
    return escape(at.replace("T", " ")[:16])
