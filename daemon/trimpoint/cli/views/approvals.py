"""The agent's questions, put to the person at the terminal: may it run this, change that, and what else does it want to know."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from trimpoint.cli import keyboard
from trimpoint.cli.connection.client import Client, Message
from trimpoint.cli.terminal import one_line, print_line, stderr_console

_APPROVALS = frozenset({"item/commandExecution/requestApproval", "item/fileChange/requestApproval"})
_PERMISSIONS = "item/permissions/requestApproval"
_USER_INPUT = "item/tool/requestUserInput"
_NOT_ME = {"code": -32601, "message": "trimpoint's command line does not answer this"}
_CHOICES = {
    "accept": ("y", "yes"),
    "acceptForSession": ("s", "yes, for the whole session"),
    "decline": ("n", "no"),
    "cancel": ("c", "no, and stop the turn"),
}


async def answer_question(client: Client, question: Message) -> None:
    """Ask the person and send the answer; where there is nobody to ask, an approval is declined, and said so."""
    method, params = str(question["method"]), dict(question.get("params") or {})
    if method in _APPROVALS:
        result: Any = {"decision": await _decision(params)}
    elif method == _PERMISSIONS:
        granted = await _yes(f"The agent asks for more permissions: {_reason(params)}", params.get("permissions"))
        result = {"permissions": params.get("permissions") if granted else {}, "scope": "turn"}
    elif method == _USER_INPUT and keyboard.is_there():
        result = {"answers": {str(item["id"]): {"answers": [await _reply(item)]} for item in params.get("questions", ())}}
    else:
        await client.send({"id": question["id"], "error": _NOT_ME})
        return
    await client.send({"id": question["id"], "result": result})


async def _decision(params: Mapping[str, Any]) -> Any:
    """One of the decisions that Codex offers."""
    offered = list(params.get("availableDecisions") or _CHOICES)
    what = f"run {one_line(str(params['command']), 2000)}" if params.get("command") else "change files"
    if not keyboard.is_there():
        print_line(Text(f"Declined, as there is no terminal to ask at: the agent asks to {what}", "yellow"))
        return "decline" if "decline" in offered else offered[-1]
    print_line(Text.assemble(("? ", "bold yellow"), f"The agent asks to {what}"))
    print_line(Text(f"  {_reason(params)}", "dim"))
    menu = [_menu_entry(number, decision, offered) for number, decision in enumerate(offered, 1)]
    chosen = await _choice(dict(menu))
    return next(decision for (key, _), decision in zip(menu, offered, strict=True) if key == chosen)


def _menu_entry(number: int, decision: Any, offered: list[Any]) -> tuple[str, str]:
    """Key and words. Decisions with parameters get a number; of the two ways to say no, an only one gets the plain key."""
    key, words = _CHOICES.get(str(decision), (str(number), one_line(str(decision), 80)))
    return ("n" if decision == "cancel" and "decline" not in offered else key), words


async def _yes(question: str, detail: Any) -> bool:
    if not keyboard.is_there():
        print_line(Text(f"Declined, as there is no terminal to ask at: {one_line(question)}", "yellow"))
        return False
    print_line(Text.assemble(("? ", "bold yellow"), one_line(question)))
    print_line(Text(f"  {one_line(str(detail), 2000)}", "dim"))
    return await _choice({"y": "yes", "n": "no"}) == "y"


async def _choice(choices: Mapping[str, str]) -> str:
    """One of the keys; asked again until it is one. The end of input means the last, which changes least."""
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
    return options[int(typed) - 1] if typed.isdecimal() and 1 <= int(typed) <= len(options) else typed


def _reason(params: Mapping[str, Any]) -> str:
    where = f"in {params['cwd']}" if params.get("cwd") else ""
    return one_line(" ".join(filter(None, [str(params.get("reason") or ""), where])), 2000)
