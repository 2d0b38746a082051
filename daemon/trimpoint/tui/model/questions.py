"""Converts the agent's questions to cards with choices or fields, and the answers to Codex's form.

The words and choices of approvals are those of the command line.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from trimpoint_protocol.lasting_rules import TOOL_RULE, lasting_rule
from trimpoint_protocol.lenient import as_dict, as_list, as_text

from trimpoint.cli.terminal import one_line
from trimpoint.cli.views.approvals import (
    decision_menu,
    offered_decisions,
    permission_words,
)
from trimpoint.cli.views.changes import Counts, counts, diff_text, place_of
from trimpoint.cli.views.whole_text import whole_lines
from trimpoint.core.model.decision import counted
from trimpoint.core.model.shell_commands import as_typed

COMMAND = "item/commandExecution/requestApproval"
FILE_CHANGE = "item/fileChange/requestApproval"
PERMISSIONS = "item/permissions/requestApproval"
USER_INPUT = "item/tool/requestUserInput"
ELICITATION = "mcpServer/elicitation/request"
ANSWERED_HERE = frozenset({COMMAND, FILE_CHANGE, PERMISSIONS, USER_INPUT, ELICITATION})

_KEPT_WORDS = {"session": ("s", "yes, for the whole session"), "always": ("a", "yes, always")}
_ALLOWING = ("accept", "acceptForSession")
_UNKNOWN = "What it would do is not known in this window, so it cannot be allowed here."


class Choice(NamedTuple):
    """A choice of a card; `result` is the answer for Codex. `rule` is what it changes for ever,
    empty if nothing.
    """

    key: str
    words: str
    result: Any
    rule: str = ""


class FieldKind(StrEnum):
    """The type of a field."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    ONE = "one"
    MANY = "many"


class Field(NamedTuple):
    """A field of a form. `options` are labels with their values. `is_free`: any other text is an
    answer, too.
    """

    id: str
    title: str
    kind: FieldKind
    options: tuple[tuple[str, Any], ...] = ()
    is_free: bool = False
    is_secret: bool = False
    is_required: bool = True
    default: str = ""


class Card(NamedTuple):
    """A question as it is shown: with `choices`, or with `fields` that are filled in one after the
    other. `declined` is the answer if the person declines. `details` are all lines that the person
    has to be able to read, `folder` is where a command runs.
    """

    title: str
    details: tuple[str, ...]
    choices: tuple[Choice, ...] = ()
    fields: tuple[Field, ...] = ()
    declined: Any = None
    folder: str = ""


def card_of(method: str, params: Mapping[str, Any], item: Mapping[str, Any]) -> Card | None:
    """Returns a question of Codex as a card; None if this client does not answer such questions.

    :param item: the item that the question is about, as Codex announced it; empty if unknown.
    """
    match method:
        case _ if method in (COMMAND, FILE_CHANGE):
            return _approval(params, item)
        case _ if method == PERMISSIONS:
            return _permissions(params)
        case _ if method == USER_INPUT:
            return _user_input(params)
        case _ if method == ELICITATION:
            return _elicitation(params)
        case _:
            return None


def answer_of(method: str, fields: Sequence[Field], values: Mapping[str, Any]) -> Any:
    """Returns the answer for Codex, given the values of the fields that were filled in."""
    filled = {field.id: values[field.id] for field in fields if field.id in values}
    if method == USER_INPUT:
        return {"answers": {name: {"answers": _texts(value)} for name, value in filled.items()}}
    return {"action": "accept", "content": filled}


def value_of(field: Field, text: str, chosen: Sequence[int] = ()) -> Any:
    """Returns the value of a field; None if the input is not valid.

    :param chosen: positions of the chosen options; if empty, `text` is the value.
    """
    if chosen:
        values = [field.options[place][1] for place in chosen]
        return values if field.kind is FieldKind.MANY else values[0]
    if not text.strip() or (field.options and not field.is_free):
        return None
    return _number(field.kind, text.strip())


def _number(kind: FieldKind, text: str) -> Any:
    try:
        match kind:
            case FieldKind.INTEGER:
                return int(text)
            case FieldKind.NUMBER:
                return float(text)
            case _:
                return text
    except ValueError:
        return None


def _texts(value: Any) -> list[str]:
    return [str(one) for one in (as_list(value) if isinstance(value, list) else [value])]


def _approval(params: Mapping[str, Any], item: Mapping[str, Any]) -> Card:
    details = [*_command_lines(params), *_change_lines(item)]
    choices = tuple(
        Choice(key, words, {"decision": decision}, lasting_rule(decision))
        for key, words, decision in decision_menu(offered_decisions(params))
    )
    if not details and not as_dict(params.get("networkApprovalContext")).get("host"):
        details = [_UNKNOWN]
        choices = tuple(one for one in choices if _declines(one.result["decision"]))
    return Card(
        _wish(params, item),
        (*details, *_reason(params), *_other_wishes(params)),
        choices,
        declined={"decision": "decline"},
        folder=one_line(as_text(params.get("cwd")), 2000),
    )


def _declines(decision: Any) -> bool:
    return isinstance(decision, str) and decision not in _ALLOWING


def _wish(params: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    if host := as_dict(params.get("networkApprovalContext")).get("host"):
        return f"May the agent reach {one_line(str(host))} over the network?"
    if params.get("command"):
        lines = counted(len(as_typed(params).splitlines()), "line")
        return f"May the agent run this command{'' if lines == '1 line' else f' of {lines}'}?"
    changes = [as_dict(change) for change in as_list(item.get("changes"))]
    if not changes:
        return "May the agent change files?"
    found = list(map(counts, changes))
    sums = Counts(sum(one.added for one in found), sum(one.removed for one in found))
    return f"May the agent change {counted(len(changes), 'file')} ({sums})?"


def _command_lines(params: Mapping[str, Any]) -> list[str]:
    lines = whole_lines(as_typed(params)) if params.get("command") else []
    return [f"$ {lines[0]}", *(f"  {line}" for line in lines[1:])] if lines else []


def _reason(params: Mapping[str, Any]) -> list[str]:
    reason = whole_lines(as_text(params.get("reason")))
    return ["The agent says:", *(f"  {line}" for line in reason)] if reason else []


def _other_wishes(params: Mapping[str, Any]) -> list[str]:
    """Returns what an approval allows besides what it names."""
    lines: list[str] = []
    if root := params.get("grantRoot"):
        lines.append(f"It also asks to write below {one_line(str(root), 2000)} for the session.")
    if more := params.get("additionalPermissions"):
        lines.append(f"It also asks for: {permission_words(more)}")
    return lines


def _change_lines(item: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for change in map(as_dict, as_list(item.get("changes"))):
        lines.append(f"{one_line(place_of(change), 2000)}  {counts(change)}")
        lines += [f"  {line}" for line in whole_lines(diff_text(change))]
    return lines


def _permissions(params: Mapping[str, Any]) -> Card:
    asked = as_dict(params.get("permissions"))
    declined: Any = {"permissions": {}, "scope": "turn"}
    choices = (
        Choice("y", "yes, for this turn", {"permissions": asked, "scope": "turn"}),
        Choice("s", "yes, for the whole session", {"permissions": asked, "scope": "session"}),
        Choice("n", "no", declined),
    )
    details = (*whole_lines(permission_words(asked)), *_reason(params))
    folder = one_line(as_text(params.get("cwd")), 2000)
    title = "The agent asks for more permissions:"
    return Card(title, details, choices, declined=declined, folder=folder)


def _user_input(params: Mapping[str, Any]) -> Card:
    fields = tuple(_asked(one) for one in map(as_dict, as_list(params.get("questions"))))
    return Card("The agent asks", (), fields=fields, declined={"answers": {}})


def _asked(question: Mapping[str, Any]) -> Field:
    options = tuple(_labelled(as_dict(one)) for one in as_list(question.get("options")))
    return Field(
        id=str(question.get("id")),
        title=one_line(str(question.get("question") or question.get("header") or ""), 2000),
        kind=FieldKind.ONE if options else FieldKind.TEXT,
        options=options,
        is_free=bool(question.get("isOther")) or not options,
        is_secret=bool(question.get("isSecret")),
    )


def _labelled(option: Mapping[str, Any]) -> tuple[str, Any]:
    label, description = str(option.get("label") or ""), str(option.get("description") or "")
    shown = f"{label}: {description}" if description else label
    return one_line(shown, 400), label


def _elicitation(params: Mapping[str, Any]) -> Card:
    server = one_line(str(params.get("serverName") or "An MCP server"), 80)
    message = tuple(whole_lines(as_text(params.get("message"))))
    declined = {"action": "decline"}
    properties = as_dict(as_dict(params.get("requestedSchema")).get("properties"))
    if params.get("mode") == "url":
        details = (*message, *whole_lines(as_text(params.get("url"))))
        done = Choice("y", "I have opened it", {"action": "accept", "content": {}})
        no = Choice("n", "no", declined)
        return Card(f"{server} asks you to open an address", details, (done, no), declined=declined)
    if not properties:
        return Card(f"{server} asks", message, _consent(params), declined=declined)
    required = as_list(as_dict(params.get("requestedSchema")).get("required"))
    fields = tuple(
        _property(name, as_dict(shape), is_required=name in required)
        for name, shape in properties.items()
    )
    return Card(f"{server} asks", message, fields=fields, declined=declined)


def _consent(params: Mapping[str, Any]) -> tuple[Choice, ...]:
    """Returns the choices of a question that only asks for consent, such as whether a tool may
    run.
    """
    accepted: dict[str, Any] = {"action": "accept", "content": {}}
    choices = [Choice("y", "yes", accepted)]
    persist = as_dict(params.get("_meta")).get("persist")
    for scope in as_list(persist) or [persist]:
        if scope in _KEPT_WORDS:
            key, words = _KEPT_WORDS[scope]
            rule = TOOL_RULE if scope == "always" else ""
            choices.append(Choice(key, words, {**accepted, "_meta": {"persist": scope}}, rule))
    return (*choices, Choice("n", "no", {"action": "decline"}))


def _property(name: str, shape: Mapping[str, Any], *, is_required: bool) -> Field:
    title = one_line(str(shape.get("title") or name), 200)
    description = one_line(str(shape.get("description") or ""), 400)
    kind, options = _kind_and_options(shape)
    default = shape.get("default")
    return Field(
        id=name,
        title=f"{title}: {description}" if description and description != title else title,
        kind=kind,
        options=options,
        is_free=not options,
        is_secret=shape.get("format") == "password",
        is_required=is_required,
        default="" if default is None or options else str(default),
    )


def _kind_and_options(shape: Mapping[str, Any]) -> tuple[FieldKind, tuple[tuple[str, Any], ...]]:
    match shape.get("type"):
        case "boolean":
            return FieldKind.ONE, (("yes", True), ("no", False))
        case "integer":
            return FieldKind.INTEGER, ()
        case "number":
            return FieldKind.NUMBER, ()
        case "array":
            return FieldKind.MANY, _enumerated(as_dict(shape.get("items")))
        case _:
            options = _enumerated(shape)
            return (FieldKind.ONE if options else FieldKind.TEXT), options


def _enumerated(shape: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    titled = as_list(shape.get("oneOf")) or as_list(shape.get("anyOf"))
    if titled:
        pairs = map(as_dict, titled)
        return tuple(
            (one_line(str(one.get("title") or one.get("const"))), one.get("const")) for one in pairs
        )
    names = as_list(shape.get("enumNames"))
    values = as_list(shape.get("enum"))
    labels = names if len(names) == len(values) else values
    return tuple((one_line(str(label)), value) for label, value in zip(labels, values, strict=True))
