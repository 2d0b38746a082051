"""Timeline entries and meters as the daemon sends them, for tests without a daemon."""

from typing import Any

from trimpoint_protocol.methods import (
    CommandInfo,
    ContextInspection,
    ContextMessage,
    ContextMessageList,
    InspectedItem,
    ThreadOverview,
    TimelinePage,
)
from trimpoint_protocol.readmodel import (
    ContextStatus,
    ContextSummaryBanner,
    ContextTrimPointDivider,
    QueuedPrompt,
    TimelineActivity,
    TimelineEntry,
    TimelineMessage,
)

WHEN = "2026-11-01T10:00:00.000Z"


def said(entry_id: str, text: str, *, turn: str = "t1", role: str = "assistant") -> TimelineMessage:
    return TimelineMessage(
        id=entry_id, turn_id=turn, role=role, text=text, created_at=WHEN, trimmed=False,
        trim_point_id=None,
    )  # fmt: skip


def did(activity: str, detail: Any, title: str = "title") -> TimelineActivity:
    return TimelineActivity(
        id="a", turn_id="t1", activity=activity, title=title, created_at=WHEN, trimmed=False,
        trim_point_id=None, detail=detail,
    )  # fmt: skip


def banner(summary: str) -> ContextSummaryBanner:
    return ContextSummaryBanner(trim_point_id="p", header="Context compacted", summary=summary)


def divider(
    trim_point_id: str = "p", *, hidden: int = 2, expanded: bool = False, kind: str = "boundary"
) -> ContextTrimPointDivider:
    return ContextTrimPointDivider(
        trim_point_id=trim_point_id, label="Earlier messages", hidden_message_count=hidden,
        expanded=expanded, trim_kind=kind,
    )  # fmt: skip


def page(
    *entries: TimelineEntry, cursor: str | None = None, first: int = 0, count: int | None = None
) -> TimelinePage:
    return TimelinePage(
        entries=list(entries), next_cursor=cursor, first_entry=first,
        entry_count=first + len(entries) if count is None else count,
    )  # fmt: skip


def context(**members: Any) -> ContextStatus:
    whole: dict[str, Any] = {
        "thread_id": "t", "model": "m", "used_tokens": 85_000, "window_tokens": 120_000,
        "percent": 70.8, "left_percent": 30, "estimated": True, "unknown": False,
        "level": "warning", "provider_compacts_at_tokens": None,
        **dict.fromkeys(
            (
                f"{when}_{what}_tokens"
                for when in ("current", "total")
                for what in ("input", "cached_input", "output", "reasoning_output")
            ),
            0,
        ),
        "current_total_tokens": 0, "total_tokens": 0,
    }  # fmt: skip
    return ContextStatus(**{**whole, **members})


def thread(thread_id: str, **members: Any) -> ThreadOverview:
    whole: dict[str, Any] = {
        "id": thread_id, "name": None, "cwd": "/work", "archived": False, "created_at": WHEN,
        "updated_at": WHEN, "generation": 1, "loaded": True, "busy": None,
    }  # fmt: skip
    return ThreadOverview(**{**whole, **members})


def command(name: str, usage: str = "") -> CommandInfo:
    return CommandInfo(name=name, usage=usage or f"/{name}", summary="does it", details="")


def queued(text: str) -> QueuedPrompt:
    return QueuedPrompt(
        id=text, client_user_message_id=text, input=[{"type": "text", "text": text}], queued_at=WHEN
    )


def item(index: int, **members: Any) -> InspectedItem:
    whole: dict[str, Any] = {
        "item_class": "user", "turn_id": "t1", "entry_id": f"e{index}", "short_id": f"s{index}",
        "role": "user", "preview": "words", "est_tokens": 10, "share": None, "protected": None,
        "pinned": False,
    }  # fmt: skip
    return InspectedItem(index=index, **{**whole, **members})


def held(short_id: str, protected: str | None = None, est_tokens: int = 10) -> ContextMessage:
    return ContextMessage(
        short_id=short_id, turn_id="t1", entry_ids=[f"{short_id}-entry"], role="user",
        kind="message", preview="words", est_tokens=est_tokens, protected=protected,
    )  # fmt: skip


def messages(*found: ContextMessage, refusal: str | None = None) -> ContextMessageList:
    return ContextMessageList(
        messages=list(found), total_est_tokens=100, target_tokens=50, floor_tokens=10,
        refusal=refusal,
    )  # fmt: skip


def inspection(*items: InspectedItem, **members: Any) -> ContextInspection:
    whole: dict[str, Any] = {
        "thread_id": "t", "totals": [], "estimated_tokens": 10, "used_tokens": 20,
        "estimated": False, "overhead_tokens": 0, "window_tokens": 100, "percent": 20.0,
        "level": "ok", "predicted": False, "note": None,
    }  # fmt: skip
    return ContextInspection(items=list(items), **{**whole, **members})
