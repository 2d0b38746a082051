"""Asks the person at the terminal the agent's questions: approvals of commands and changes,
permissions, and questions for input.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from rich.text import Text
from trimpoint_protocol.hidden_characters import whole
from trimpoint_protocol.lasting_rules import RULE_WORDS, lasting_rule
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.cli import keyboard
from trimpoint.cli.connection.client import Client, Message
from trimpoint.cli.terminal import one_line, print_line, stderr_console
from trimpoint.cli.views.changes import counts, diff_text, place_of
from trimpoint.cli.views.timeline_view import command_line
from trimpoint.cli.views.whole_text import whole_lines
from trimpoint.core.model.decision import counted
from trimpoint.core.model.shell_commands import unwrapped

_APPROVALS = frozenset({"item/commandExecution/requestApproval", "item/fileChange/requestApproval"})
_PERMISSIONS = "item/permissions/requestApproval"
_USER_INPUT = "item/tool/requestUserInput"
_NOT_ME = "trimpoint's command line does not answer this"
_CHOICES = {
    "accept": ("y", "yes"),
    "acceptForSession": ("s", "yes, for the whole session"),
    "decline": ("n", "no"),
    "cancel": ("c", "no, and stop the turn"),
}


_OUTCOMES = {
    "accept": "Allowed.",
    "acceptForSession": "Allowed, for the whole session.",
    "decline": "Declined.",
    "cancel": "Declined; the turn stops.",
}


async def answer_question(
    client: Client, question: Message, item: Mapping[str, Any] | None = None
) -> None:
    """Asks the person and sends the answer. If there is no terminal, an approval is declined and a
    line says so.

    :param item: the item that the question is about, as Codex announced it; only this has the files
        of a change.
    """
    method, params = str(question["method"]), dict(question.get("params") or {})
    if method in _APPROVALS:
        result: Any = {"decision": await _decision(params, item or {})}
    elif method == _PERMISSIONS:
        wanted = permission_words(params.get("permissions"))
        granted = await _yes(f"The agent asks for more permissions: {wanted}", reason_words(params))
        result = {"permissions": params.get("permissions") if granted else {}, "scope": "turn"}
    elif method == _USER_INPUT and keyboard.is_there():
        result = {
            "answers": {
                str(item["id"]): {"answers": [await _reply(item)]}
                for item in params.get("questions", ())
            }
        }
    else:
        client.refuse(question, _NOT_ME)
        return
    client.answer(question, result)


async def _decision(params: Mapping[str, Any], item: Mapping[str, Any]) -> Any:
    """Returns one of the decisions that Codex offers."""
    offered = offered_decisions(params)
    what = wish(params, item)
    if not keyboard.is_there():
        print_line(
            Text(f"Declined, as there is no terminal to ask at: the agent asks to {what}", "yellow")
        )
        return "decline" if "decline" in offered else offered[-1]
    print_line(Text.assemble(("? ", "bold yellow"), f"The agent asks to {what}"))
    for line in _whole_command(params) if what.endswith("…") or "⏎" in what else ():
        print_line(Text(f"  {line}"))
    for change in map(as_dict, as_list(item.get("changes"))):
        print_line(Text(f"  {whole(one_line(place_of(change)))}  {counts(change)}", "bold"))
        for line in whole_lines(diff_text(change)):
            print_line(Text(f"  | {line}"))
    if reason := reason_words(params):
        print_line(Text(f"  {reason}", "dim"))
    menu = decision_menu(offered)
    while True:
        key = await _choice({key: words for key, words, _ in menu})
        chosen, said = next((decision, words) for entry, words, decision in menu if entry == key)
        if await _is_rule_wanted(lasting_rule(chosen)):
            break
    print_line(Text(f"  {_OUTCOMES.get(str(chosen), f'{said[:1].upper()}{said[1:]}.')}", "dim"))
    return chosen


async def _is_rule_wanted(rule: str) -> bool:
    """Shows the rule that an answer writes, and asks once more; nothing is asked without a rule."""
    if not rule:
        return True
    print_line(Text(f"  {RULE_WORDS} {rule}", "yellow"))
    return await _choice({"y": "yes, write it", "n": "no, go back"}) == "y"


def offered_decisions(params: Mapping[str, Any]) -> list[Any]:
    """Returns the decisions that Codex offers for an approval."""
    return list(params.get("availableDecisions") or _CHOICES)


def wish(params: Mapping[str, Any], item: Mapping[str, Any]) -> str:
    """Returns the action that needs approval, in words that follow "asks to". Whatever of it is not
    seen is made visible.
    """
    if host := as_dict(params.get("networkApprovalContext")).get("host"):
        return whole(f"reach {one_line(str(host))} over the network")
    if params.get("command"):
        return whole(f"run {command_line(params)}")
    changes = [as_dict(change) for change in item.get("changes") or ()]
    paths = [one_line(str(change.get("path", "?"))) for change in changes]
    return whole(f"change {', '.join(paths)}") if paths else "change files"


def _whole_command(params: Mapping[str, Any]) -> list[str]:
    """Returns all lines of a command that is too long for the question, and how many there are."""
    command = unwrapped(str(params.get("command") or ""))
    count = counted(command.count("\n") + 1, "line")
    return [*(f"| {line}" for line in whole_lines(command)), f"{count} in all"]


def decision_menu(offered: list[Any]) -> list[tuple[str, str, Any]]:
    """Returns the key, the words and the decision of each choice. If there is only one way to say
    no, it gets the key `n`.
    """
    menu: list[tuple[str, str, Any]] = []
    for number, decision in enumerate(offered, 1):
        key, words = (
            _CHOICES.get(str(decision), ("", ""))
            if isinstance(decision, str)
            else _amendment(decision)
        )
        if decision == "cancel" and "decline" not in offered:
            key = "n"
        if not key or any(key == other for other, _, _ in menu):
            key = str(number)
        menu.append((key, words or one_line(str(decision), 80), decision))
    return menu


def _amendment(decision: Any) -> tuple[str, str]:
    """Returns the key and the words of a decision that also changes a rule permanently."""
    rule = as_dict(as_dict(decision).get("acceptWithExecpolicyAmendment")).get(
        "execpolicy_amendment"
    )
    if rule := as_list(rule):
        words = shlex.join(map(str, rule))
        rule_words = whole(one_line(unwrapped(words), 80))
        return "a", f"yes, and never ask again for `{rule_words}`"
    network = as_dict(as_dict(decision).get("applyNetworkPolicyAmendment")).get(
        "network_policy_amendment"
    )
    host, action = one_line(str(as_dict(network).get("host", "?"))), as_dict(network).get("action")
    if action == "deny":
        return "d", f"no, and never allow {host}"
    return ("a", f"yes, and always allow {host}") if action == "allow" else ("", "")


def permission_words(permissions: Any) -> str:
    """Returns the permissions that the agent asks for, in words."""
    wanted = as_dict(permissions)
    files = as_dict(wanted.get("fileSystem"))
    words = ["the network"] if as_dict(wanted.get("network")).get("enabled") else []
    for access in ("read", "write"):
        words += [f"to {access} {whole(one_line(str(path)))}" for path in files.get(access) or ()]
    for entry in map(as_dict, files.get("entries") or ()):
        path = as_dict(entry.get("path"))
        where = (
            path.get("path") or path.get("pattern") or as_dict(path.get("value")).get("kind") or "?"
        )
        words.append(f"to {entry.get('access')} {whole(one_line(str(where)))}")
    return ", ".join(words) or "none that can be named"


async def _yes(question: str, detail: str) -> bool:
    if not keyboard.is_there():
        print_line(
            Text(f"Declined, as there is no terminal to ask at: {one_line(question)}", "yellow")
        )
        return False
    print_line(Text.assemble(("? ", "bold yellow"), one_line(question, 2000)))
    if detail:
        print_line(Text(f"  {detail}", "dim"))
    granted = await _choice({"y": "yes", "n": "no"}) == "y"
    print_line(Text("  Allowed, for this turn." if granted else "  Declined.", "dim"))
    return granted


async def _choice(choices: Mapping[str, str]) -> str:
    """Asks until one of the keys is typed, and returns it. The end of input selects the last
    choice, which changes least.
    """
    menu = "  ".join(f"[{key}] {words}" for key, words in choices.items())
    while True:
        stderr_console().print(Text(f"  {menu}  > ", "bold"), end="", soft_wrap=True)
        typed = await keyboard.typed_line()
        if typed is None:
            return list(choices)[-1]
        if typed.lower() in choices:
            return typed.lower()


async def _reply(item: Mapping[str, Any]) -> str:
    options = [str(option.get("label")) for option in item.get("options") or ()]
    print_line(Text.assemble(("? ", "bold yellow"), one_line(str(item.get("question")), 2000)))
    for number, option in enumerate(options, 1):
        print_line(Text(f"  [{number}] {one_line(option)}"))
    stderr_console().print(Text("  > ", "bold"), end="")
    typed = await keyboard.typed_line() or ""
    return (
        options[int(typed) - 1] if typed.isdecimal() and 1 <= int(typed) <= len(options) else typed
    )


def reason_words(params: Mapping[str, Any]) -> str:
    where = f"in {params['cwd']}" if params.get("cwd") else ""
    return one_line(" ".join(filter(None, [str(params.get("reason") or ""), where])), 2000)
