"""Checks whether a client's result is an answer that Codex itself could read.

Codex takes a result that it cannot read as a refusal (measured: 0.153, 0.163, 0.171). With several
clients, one client must not refuse for all of them with a value that Codex does not know. The types
follow Codex's own schema, 0.133 to 0.171; `tests/gateway/session/test_answers.py` compares them
with it. Additional members are allowed, here as in Codex.
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

_TOOL_CALL = "item/tool/call"
_Nothing: TypeAlias = UnsetType | None
"""The value of a choice that is an object's only member; Codex reads it as the choice itself."""


class _OneMember(Struct, frozen=True, forbid_unknown_fields=True):
    """An object whose only member is the choice."""

    def __post_init__(self) -> None:
        if len(_members_of(self)) != 1:
            raise ValueError("a choice has exactly one member")


class _NetworkRule(Struct, frozen=True):
    action: Literal["allow", "deny"]
    host: str


class _NetworkAmendment(Struct, frozen=True):
    network_policy_amendment: _NetworkRule


class _CommandAmendment(Struct, frozen=True):
    execpolicy_amendment: list[str]


class _FileDecision(_OneMember, frozen=True, rename="camel"):
    accept: _Nothing = UNSET
    accept_for_session: _Nothing = UNSET
    decline: _Nothing = UNSET
    cancel: _Nothing = UNSET


class _CommandDecision(_FileDecision, frozen=True, rename="camel"):
    accept_with_execpolicy_amendment: _CommandAmendment | UnsetType = UNSET
    apply_network_policy_amendment: _NetworkAmendment | UnsetType = UNSET


_Decision = Literal["accept", "acceptForSession", "decline", "cancel"]


class _CommandApproval(Struct, frozen=True):
    decision: _Decision | _CommandDecision


class _FileApproval(Struct, frozen=True):
    decision: _Decision | _FileDecision


class _NetworkPermissions(Struct, frozen=True):
    enabled: bool | None = None


class _Permissions(Struct, frozen=True, rename="camel"):
    network: _NetworkPermissions | None = None
    file_system: dict[str, Any] | None = None


class _PermissionsGranted(Struct, frozen=True, rename="camel"):
    permissions: _Permissions
    scope: Literal["turn", "session"] = "turn"
    strict_auto_review: bool | None = None


class _InputGiven(Struct, frozen=True):
    answers: list[str]


class _InputAnswered(Struct, frozen=True):
    answers: dict[str, _InputGiven]


class _Text(Struct, frozen=True, tag="inputText"):
    text: str


class _Image(Struct, frozen=True, tag="inputImage", rename="camel"):
    image_url: str


class _Audio(Struct, frozen=True, tag="inputAudio", rename="camel"):
    audio_url: str


class _ToolCalled(Struct, frozen=True, rename="camel"):
    content_items: list[_Text | _Image | _Audio]
    success: bool


class _Elicited(Struct, frozen=True):
    action: Literal["accept", "decline", "cancel"]


class _TokensRefreshed(Struct, frozen=True, rename="camel"):
    access_token: str
    chatgpt_account_id: str
    chatgpt_plan_type: str | None = None


class _Attested(Struct, frozen=True):
    token: str


class _TimeRead(Struct, frozen=True, rename="camel"):
    current_time_at: int


class _ProposedAmendment(Struct, frozen=True):
    proposed_execpolicy_amendment: list[str]


class _Denial(Struct, frozen=True):
    rejection: str


class _ReviewDecision(_OneMember, frozen=True):
    approved: _Nothing = UNSET
    approved_for_session: _Nothing = UNSET
    approved_mcp_policy_amendment: _Nothing = UNSET
    timed_out: _Nothing = UNSET
    abort: _Nothing = UNSET
    approved_execpolicy_amendment: _ProposedAmendment | UnsetType = UNSET
    network_policy_amendment: _NetworkAmendment | UnsetType = UNSET
    # Older versions have it without a reason.
    denied: _Denial | UnsetType | None = UNSET


_Review = Literal[
    "approved",
    "approved_for_session",
    "approved_mcp_policy_amendment",
    "denied",
    "timed_out",
    "abort",
]


class _Reviewed(Struct, frozen=True):
    decision: _Review | _ReviewDecision


MAX_ANSWER_BYTES: Final = 1024 * 1024
"""A larger result is no answer, unless it is that of a tool, which may hold images."""

ANSWERS: dict[str, type[Struct]] = {
    "item/commandExecution/requestApproval": _CommandApproval,
    "item/fileChange/requestApproval": _FileApproval,
    "item/permissions/requestApproval": _PermissionsGranted,
    "item/tool/requestUserInput": _InputAnswered,
    _TOOL_CALL: _ToolCalled,
    "mcpServer/elicitation/request": _Elicited,
    "account/chatgptAuthTokens/refresh": _TokensRefreshed,
    "attestation/generate": _Attested,
    "currentTime/read": _TimeRead,
    "applyPatchApproval": _Reviewed,
    "execCommandApproval": _Reviewed,
}
"""Method of a request → what answers it. Of one that is not here any object is an answer."""

_DECODERS = {method: msgspec.json.Decoder(answer) for method, answer in ANSWERS.items()}
_ANY_OBJECT = msgspec.json.Decoder(Struct)


def read_answer(method: str, result: Raw) -> Struct | None:
    """Returns the part of a client's answer that Codex needs, or None if Codex would take the
    result as a refusal.
    """
    if len(result) > MAX_ANSWER_BYTES and method != _TOOL_CALL:
        return None
    try:
        return _DECODERS.get(method, _ANY_OBJECT).decode(result)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def allows(answer: Struct) -> bool:
    """Returns whether an answer lets the agent do what it asked for."""
    match answer:
        case _CommandApproval(decision) | _FileApproval(decision):
            return _chosen(decision) not in ("decline", "cancel")
        case _PermissionsGranted(permissions):
            return permissions != _Permissions()
        case _:
            return True


def is_for_session(answer: Struct) -> bool:
    """Returns whether an answer approves further requests until the session ends."""
    match answer:
        case _CommandApproval(decision) | _FileApproval(decision):
            return _chosen(decision) == "accept_for_session"
        case _Reviewed(decision):
            return _chosen(decision) == "approved_for_session"
        case _PermissionsGranted(scope=scope):
            return scope == "session"
        case _:
            return False


def given_in(answer: Struct) -> dict[str, list[str]] | None:
    """Returns the words of an answer to a question, by the id of its parts; None if it answers
    another kind of request.
    """
    if not isinstance(answer, _InputAnswered):
        return None
    return {name: given.answers for name, given in answer.answers.items()}


def _chosen(decision: str | _OneMember) -> str:
    if isinstance(decision, str):
        return "accept_for_session" if decision == "acceptForSession" else decision
    [name] = _members_of(decision)
    return name


def _members_of(choice: _OneMember) -> list[str]:
    return [name for name in choice.__struct_fields__ if getattr(choice, name) is not UNSET]
