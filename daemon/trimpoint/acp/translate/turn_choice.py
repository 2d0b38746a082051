"""The question which turns a `/clear` or a `/revert` means that names none."""

from typing import NamedTuple

from trimpoint_protocol.hidden_characters import visible
from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_list, as_text

from trimpoint.acp.translate.commands import command_name
from trimpoint.acp.translate.permissions import Option, Permission
from trimpoint.acp.translate.status import shortened
from trimpoint.acp.wire.content import ToolCall

MOST_OFFERED = 8
MAX_WORDS_CHARS = 60
_TITLES = {
    "clear": "What stays in the agent's context?",
    "revert": "How far does the thread go back?",
}
_UNTOLD = {"clear": ["--force"], "revert": ["--context", "--force"]}
"""The switches of a daemon that does not tell them, an older one."""
_NOTHING_CHOSEN = {
    "clear": "Nothing was cleared. /clear 3 keeps the last 3 turns, /clear 0 keeps none.",
    "revert": "Nothing was reverted. /revert 3 goes back to after turn 3.",
}


class Unnamed(NamedTuple):
    """A command without its turns."""

    command: str
    switches: str

    def permission(self, turns: Json, call_id: str) -> Permission | None:
        """Returns the question as a permission, whose result is a number for the command; None if
        there is nothing to choose. `turns` is the answer of `checkpoint/list`, `call_id` names
        the tool call that the question is about.
        """
        numbered = [one for one in as_dicts(turns.get("turns")) if one.get("number")]
        options = _kept(numbered) if self.command == "clear" else _gone_back_to(numbered)
        if not options:
            return None
        call = ToolCall(
            tool_call_id=call_id, title=_TITLES[self.command], kind="other", status="pending"
        )
        return Permission(call, options, {}, {})

    def with_number(self, chosen: Json) -> str:
        """Returns the command as it was chosen."""
        return f"/{self.command} {chosen['number']}{self.switches}"

    @property
    def nothing_chosen(self) -> Json:
        """Returns the outcome where nothing was chosen."""
        return {
            "handled": True,
            "command": self.command,
            "status": "skipped",
            "reason": "nothing_chosen",
            "message": _NOTHING_CHOSEN[self.command],
        }


def may_ask(text: str) -> str | None:
    """Returns the name of the command that `text` may be, if it is one that can ask for turns."""
    name = command_name(text)
    return name if name in _TITLES else None


def unnamed(text: str, listed: Json) -> Unnamed | None:
    """Returns a command that does not say which turns it means; None for any other text. `listed`
    is the daemon's list of commands.
    """
    name, rest = may_ask(text), text.split()[1:]
    if name is None:
        return None
    named = (one for one in as_dicts(listed.get("commands")) if one.get("name") == name)
    told = as_dict(next(named, None))
    switches = as_list(told.get("asksWith")) or _UNTOLD[name]
    if not set(rest) <= {*switches}:
        return None
    return Unnamed(name, "".join(f" {switch}" for switch in rest))


def _kept(turns: list[Json]) -> list[Option]:
    active = [one for one in reversed(turns) if not one.get("trimmed")]
    if len(active) < 2:
        return []
    options = [Option("Keep everything", "reject_once", {})]
    for count in range(1, min(len(active), MOST_OFFERED + 1)):
        turns_kept = "the last turn" if count == 1 else f"the last {count} turns, from"
        words = f"Keep {turns_kept}: {_prompt(active[count - 1])}"
        options.append(Option(words, "allow_once", {"number": count}))
    return [*options, Option("Keep nothing", "allow_once", {"number": 0})]


def _gone_back_to(turns: list[Json]) -> list[Option]:
    if not turns:
        return []
    options = [Option("Leave everything as it is", "reject_once", {})]
    for one in reversed(turns[:-1][-MOST_OFFERED:]):
        words = f"Back to after turn {one['number']}: {_prompt(one)}"
        options.append(Option(words, "allow_once", {"number": one["number"]}))
    return [*options, Option("Back to before the first turn", "allow_once", {"number": 0})]


def _prompt(turn: Json) -> str:
    return shortened(" ".join(visible(as_text(turn.get("prompt"))).split()), MAX_WORDS_CHARS)
