"""Translates Codex's approval requests to permissions that the editor asks for, and the answers
back.
"""

from typing import Any, Literal, NamedTuple

import msgspec
from trimpoint_protocol.hidden_characters import whole
from trimpoint_protocol.lasting_rules import RULE_WORDS, TOOL_RULE, lasting_rule
from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_list, as_text

from trimpoint.acp.wire.content import AcpStruct, ToolCall, ToolContent, text_content

_NOT_KNOWN = "What this would change is not known here, so it cannot be allowed here."
OptionKind = Literal["allow_once", "allow_always", "reject_once", "reject_always"]

COMMAND = "item/commandExecution/requestApproval"
FILE_CHANGE = "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"
ELICITATION = "mcpServer/elicitation/request"
USER_INPUT = "item/tool/requestUserInput"


class PermissionOption(AcpStruct, frozen=True, kw_only=True):
    """A choice that the person has."""

    option_id: str
    name: str
    kind: OptionKind


class PermissionRequest(AcpStruct, frozen=True, kw_only=True):
    """The parameters of `session/request_permission`."""

    session_id: str
    tool_call: ToolCall
    options: list[PermissionOption]


class Option(NamedTuple):
    """A choice, and `result`, the answer for Codex if the person makes this choice. `rule` is what
    it changes for ever, empty if nothing.
    """

    name: str
    kind: OptionKind
    result: Json
    rule: str = ""


class Permission(NamedTuple):
    """A permission to ask for. `tool_call` is its subject; `declined` and `cancelled` are the
    answers if the person makes no choice.
    """

    tool_call: ToolCall
    options: list[Option]
    declined: Json
    cancelled: Json

    def request(self, session_id: str) -> PermissionRequest:
        """Returns the parameters of `session/request_permission`; the id of an option is its
        position.
        """
        options = [
            PermissionOption(option_id=str(place), name=whole(one.name), kind=one.kind)
            for place, one in enumerate(self.options)
        ]
        call = msgspec.structs.replace(self.tool_call, title=whole(self.tool_call.title or ""))
        return PermissionRequest(session_id=session_id, tool_call=call, options=options)

    def answer(self, option_id: str | None) -> Json:
        """Returns the answer for the chosen option; for an unknown option, a refusal."""
        chosen = self._chosen(option_id)
        return chosen.result if chosen is not None else self.declined

    def second_step(self, option_id: str | None) -> "Permission | None":
        """Returns what has to be asked before the chosen option counts: one that writes a rule
        shows it. None if it writes none.
        """
        chosen = self._chosen(option_id)
        if chosen is None or not chosen.rule:
            return None
        said = text_content(f"{RULE_WORDS}\n{chosen.rule}")
        call = msgspec.structs.replace(
            self.tool_call, content=[*(self.tool_call.content or []), said]
        )
        once = [
            one._replace(name="Allow this once, and write no rule")
            for one in self.options
            if one.kind == "allow_once"
        ]
        write = Option(f"Write this rule: {chosen.rule}", chosen.kind, chosen.result)
        reject = [one for one in self.options if one.kind == "reject_once"]
        # What changes least stands first, so that a key which is pressed twice writes nothing.
        first = once if chosen.kind == "allow_always" else reject
        last = [one for one in reject if one not in first]
        return Permission(call, [*first, write, *last], self.declined, self.cancelled)

    def _chosen(self, option_id: str | None) -> Option | None:
        known = {str(place): one for place, one in enumerate(self.options)}
        return known.get(option_id or "")


def command_permission(params: Json, call: ToolCall | None) -> Permission:
    """Returns the permission for a command; `call` is its tool call, if known."""
    decisions = as_list(params.get("availableDecisions")) or ["accept", "acceptForSession"]
    options = [one for decision in decisions if (one := _decision_option(decision)) is not None]
    if not any(one.kind == "allow_once" for one in options):
        options.insert(0, _accept())
    # It may not be among the decisions that Codex names, and works all the same (measured: 0.166).
    options.append(Option("Reject", "reject_once", {"decision": "decline"}))
    command = as_text(params.get("command"))
    shown = call or ToolCall(
        tool_call_id=as_text(params.get("itemId")), title=command or "Run a command", kind="execute"
    )
    return _decided(_with_reason(shown, params), options)


def file_change_permission(params: Json, call: ToolCall | None) -> Permission:
    """Returns the permission for a file change; `call` is its tool call with the diffs, if known.
    What is not known here cannot be allowed here.
    """
    reject = Option("Reject", "reject_once", {"decision": "decline"})
    if call is None or not call.content:
        content: list[ToolContent] = [text_content(_NOT_KNOWN)]
        shown = ToolCall(
            tool_call_id=as_text(params.get("itemId")), title="Edit files", kind="edit",
            content=content,
        )  # fmt: skip
        return _decided(_with_reason(shown, params), [reject])
    options = [
        _accept(),
        Option("Allow for this session", "allow_always", {"decision": "acceptForSession"}),
        reject,
    ]
    shown = call
    return _decided(_with_reason(shown, params), options)


def wider_permission(params: Json) -> Permission:
    """Returns the permission for a request of more access, such as to the network or other
    folders.
    """
    asked = as_dict(params.get("permissions"))
    refused: Json = {"permissions": {}}
    options = [
        Option("Allow for this turn", "allow_once", {"permissions": asked, "scope": "turn"}),
        Option(
            "Allow for this session", "allow_always", {"permissions": asked, "scope": "session"}
        ),
        Option("Reject", "reject_once", refused),
    ]
    reason = as_text(params.get("reason"))
    content: list[ToolContent] = [text_content(whole(reason))] if reason else []
    call = ToolCall(
        tool_call_id=as_text(params.get("itemId")),
        title="More permissions",
        kind="other",
        status="pending",
        content=content or None,
        raw_input=asked,
    )
    return Permission(call, options, refused, refused)


def is_tool_approval(params: Json) -> bool:
    """Returns whether an elicitation asks only for approval of an MCP tool, without a form."""
    meta, schema = as_dict(params.get("_meta")), as_dict(params.get("requestedSchema"))
    return meta.get("codex_approval_kind") == "mcp_tool_call" and not as_dict(
        schema.get("properties")
    )


def tool_permission(params: Json, call: ToolCall | None) -> Permission:
    """Returns the permission for an MCP tool."""
    meta = as_dict(params.get("_meta"))
    kept = as_list(meta.get("persist")) or [meta.get("persist")]
    options = [Option("Allow", "allow_once", {"action": "accept", "content": {}})]
    names = {"session": "Allow for this session", "always": "Always allow"}
    for scope in kept:
        if scope in names:
            accepted = {"action": "accept", "content": {}, "_meta": {"persist": scope}}
            rule = TOOL_RULE if scope == "always" else ""
            options.append(Option(names[scope], "allow_always", accepted, rule))
    options.append(Option("Reject", "reject_once", {"action": "decline"}))
    message = as_text(params.get("message"))
    name = as_text(params.get("serverName"))
    shown = call or ToolCall(
        tool_call_id=f"mcp-{name}", title=message or f"Use {name}", kind="other", status="pending"
    )
    shown = (
        msgspec.structs.replace(
            shown, content=[*(shown.content or []), text_content(whole(message))]
        )
        if message
        else shown
    )
    return Permission(shown, options, {"action": "decline"}, {"action": "cancel"})


def question_permission(params: Json) -> Permission | None:
    """Returns a question of `item/tool/requestUserInput` as a permission if it is a single choice;
    None otherwise.
    """
    questions = as_dicts(params.get("questions"))
    choices = as_dicts(questions[0].get("options")) if len(questions) == 1 else []
    if not choices or questions[0].get("isSecret"):
        return None
    question_id, text = as_text(questions[0].get("id")), as_text(questions[0].get("question"))
    options = [
        Option(label, "allow_once", {"answers": {question_id: {"answers": [label]}}})
        for choice in choices
        if (label := as_text(choice.get("label")))
    ]
    none: Json = {"answers": {}}
    options.append(Option("No answer", "reject_once", none))
    call = ToolCall(
        tool_call_id=as_text(params.get("itemId")), title=text, kind="other", status="pending"
    )
    return Permission(call, options, none, none)


def _accept() -> Option:
    return Option("Allow", "allow_once", {"decision": "accept"})


def _decided(call: ToolCall, options: list[Option]) -> Permission:
    shown = msgspec.structs.replace(call, status="pending")
    return Permission(shown, options, {"decision": "decline"}, {"decision": "cancel"})


def _with_reason(call: ToolCall, params: Json) -> ToolCall:
    reason = as_text(params.get("reason"))
    said = [text_content(whole(reason))] if reason else []
    content = [*(call.content or []), *said] or None
    return msgspec.structs.replace(call, content=content, meta=None)


def _decision_option(decision: Any) -> Option | None:
    """Returns a decision that Codex offers as an option; None for an unknown one. The decision is
    sent back unchanged.
    """
    match decision:
        case "accept":
            return _accept()
        case "acceptForSession":
            return Option("Allow for this session", "allow_always", {"decision": decision})
        case _:
            return _amendment_option(as_dict(decision))


def _amendment_option(decision: Json) -> Option | None:
    """Returns a decision that Codex also applies to similar commands or to a host from now on."""
    rule = lasting_rule(decision)
    policy = as_dict(decision.get("acceptWithExecpolicyAmendment"))
    words = " ".join(map(str, as_list(policy.get("execpolicy_amendment"))))
    if words:
        name = f"Always allow commands starting with `{words}` …"
        return Option(name, "allow_always", {"decision": decision}, rule)
    network = as_dict(decision.get("applyNetworkPolicyAmendment"))
    amendment = as_dict(network.get("network_policy_amendment"))
    if not amendment:
        return None
    host = as_text(amendment.get("host"))
    if amendment.get("action") == "allow":
        return Option(f"Allow {host} in future …", "allow_always", {"decision": decision}, rule)
    return Option(f"Block {host} in future …", "reject_always", {"decision": decision}, rule)
