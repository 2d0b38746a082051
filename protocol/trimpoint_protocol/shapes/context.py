"""The shapes of `context/…`: the agent's context item by item, and the trims that would help."""

from typing import Literal

import msgspec

from trimpoint_protocol.shapes.structs import Params as Params
from trimpoint_protocol.shapes.structs import Result as Result

__all__ = [
    "ClassTotal",
    "ContextAdvice",
    "ContextInspection",
    "ContextMessage",
    "ContextMessageList",
    "InspectedItem",
    "ItemClassName",
    "TrimAdvice",
]


class ContextMessage(Result, frozen=True, kw_only=True):
    """One thing of the agent's context that can only leave it whole: a message, or a tool call with
    its result.

    `shortId` is for people and agents and means the same for as long as the context does. `role`:
    user | assistant | tool. `kind`: message | fileRead | command | check | fileChange | plan |
    title | toolCall | contextTool | history | summary. `protected` says why it stays: newest |
    codeChange | plan | finalAnswer | summary | pinned | injected | notRecorded; null when it
    may go. `masked` says that one line is in the place of its output or image.
    """

    short_id: str
    turn_id: str
    entry_ids: list[str]
    role: str
    kind: str
    preview: str
    est_tokens: int
    protected: str | None
    masked: bool = False


class ContextMessageList(Result, frozen=True, kw_only=True):
    """The segments in the order in which the model sees them. No discard leaves less than
    `floorTokens`; `/compress` stops at `targetTokens`.

    `refusal` says why nothing can be discarded at present; null when something can.
    """

    messages: list[ContextMessage]
    total_est_tokens: int
    target_tokens: int
    floor_tokens: int
    refusal: str | None


ItemClassName = Literal[
    "instructions",
    "tools",
    "environment",
    "projectDocs",
    "skills",
    "summary",
    "pinned",
    "user",
    "assistant",
    "toolCall",
    "toolResult",
    "reasoning",
    "image",
    "other",
]


class InspectedItem(Result, frozen=True, kw_only=True):
    """One item of the model's next input. `share` is its part of the window, null while the
    window's size is unknown.

    `turnId`, `entryId` and `shortId` are null for items that Codex wrote itself and the ledger does
    not know. `protected` is as in `context/messages/list`. `parts` has the tokens of each class, if
    the item holds several.
    """

    index: int
    item_class: ItemClassName = msgspec.field(name="class")
    turn_id: str | None
    entry_id: str | None
    short_id: str | None
    role: str
    preview: str
    est_tokens: int
    share: float | None
    protected: str | None
    pinned: bool
    parts: dict[str, int] | None = None


class ClassTotal(Result, frozen=True, kw_only=True):
    """The items of one class and their tokens. An item that Codex wrote can hold parts of several
    classes: it is counted as an item in the class of its first part, and its tokens in the class of
    each part.
    """

    item_class: ItemClassName = msgspec.field(name="class")
    count: int
    est_tokens: int
    share: float | None


class ContextInspection(Result, frozen=True, kw_only=True):
    """The model's input before the next prompt, in order.

    `estimatedTokens` is the sum over the items. `usedTokens` is the meter's figure, measured by a
    model call where `estimated` is false. `overheadTokens` is the difference: tools, whose
    definitions Codex does not report, and the error of the estimates. `note` says what is not known
    of the items, or why `usedTokens` is an estimate. `predicted`: Codex has not written its own
    items for this session yet, so those of the session before are shown.
    """

    thread_id: str
    items: list[InspectedItem]
    totals: list[ClassTotal]
    estimated_tokens: int
    used_tokens: int
    estimated: bool
    overhead_tokens: int
    window_tokens: int | None
    percent: float | None
    level: Literal["ok", "warning", "critical"] | None
    predicted: bool
    note: str | None


class TrimAdvice(Result, frozen=True, kw_only=True):
    """A trim that would help. `afterTokens` is null where only the summary will tell; `percent` is
    the share of the window that `afterTokens` takes. `text` is a sentence for a person: `command`,
    then `effect`.
    """

    command: str
    frees_tokens: int | None
    after_tokens: int | None
    percent: float | None
    text: str
    effect: str = ""


class ContextAdvice(Result, frozen=True, kw_only=True):
    """The trims that would help, the best first. `advice` is empty while the level is ok or
    unknown.
    """

    thread_id: str
    level: Literal["ok", "warning", "critical"] | None
    advice: list[TrimAdvice]
