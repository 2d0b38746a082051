"""What a person who looks elsewhere is told."""

from typing import Literal

from trimpoint_protocol.shapes.structs import Result

__all__ = ["Notice", "NoticeKind"]

NoticeKind = Literal["done", "asks", "critical", "automatic", "failed"]


class Notice(Result, frozen=True, kw_only=True):
    """Something that a person who looks elsewhere may want to know: a turn has ended, the agent
    waits for an answer, the context has become critical, it was trimmed automatically, or a
    compaction has failed.

    `said` is a sentence. `title` is the thread's name, else the name of its folder, for nothing of
    the conversation is in it unless the configuration asks for that.
    """

    thread_id: str
    event: NoticeKind
    said: str
    title: str
    folder: str
