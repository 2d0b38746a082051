"""Adds trimpoint's commands to the `$` menu of Codex's own terminal UI, which lists skills.

The entries are added to the answer of `skills/list` and are not files. The UI sends a chosen entry
together with the text; it is recognized by its path, and never reaches Codex.
"""

from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict, as_list

from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.commands.helping import Help
from trimpoint.core.commands.new import New
from trimpoint.core.commands.registry import REGISTRY
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler

# Clients expect the path of a file; there is no such file.
FOLDER = "/trimpoint/commands/"
# Left out: `/new` would archive the thread that the UI shows, and the UI has its own `/new`.
OFFERED = tuple(name for name in REGISTRY if name != New.command)


class SkillMenu:
    """Adds the commands to Codex's answer to `skills/list`; `forward` serves clients other than
    Codex's terminal UI.
    """

    def __init__(self, link: CodexLink, forward: Handler) -> None:
        self._link = link
        self._forward = forward
        self.handlers: dict[str, Handler] = {"skills/list": self._list}

    async def _list(self, client_request: ClientRequest) -> Any:
        if not is_codex_tui(client_request.client):
            return await self._forward(client_request)
        raw = await request_in_order(
            self._link,
            client_request.method,
            client_request.message.params,
            Raw.copy,
            on_sent=client_request.on_sent,
        )
        answer = msgspec.json.decode(raw)
        for folder in as_list(answer.get("data")):
            folder["skills"] = [*as_list(folder.get("skills")), *map(_skill, OFFERED)]
        return answer


def command_in(turn_input: Any) -> str | None:
    """Returns the text of a menu entry as a typed command, or None if the input holds no entry of
    ours.

    Text around the entry that makes no command becomes `/help`.
    """
    parts = [as_dict(part) for part in as_list(turn_input)]
    chosen = [str(part.get("name")) for part in parts if _is_ours(part)]
    if not chosen:
        return None
    text = " ".join(str(part.get("text")) for part in parts if part.get("type") == "text").strip()
    mark, name = text[:1], text[1:].split(maxsplit=1)[:1]
    stands_alone = mark == "$" and name == chosen and len(parts) == 2
    # With words before the entry, the input is no command that could be executed; the help then
    # lists the commands.
    return f"/{text[1:]}" if stands_alone else Help.typed({"name": text or chosen[0]})


def _is_ours(part: dict[str, Any]) -> bool:
    return part.get("type") == "skill" and str(part.get("path")).startswith(FOLDER)


def _skill(name: str) -> dict[str, Any]:
    command = REGISTRY[name]
    shown = {
        "displayName": name,
        "shortDescription": command.summary,
        "iconSmallUrl": None,
        "iconLargeUrl": None,
    }
    return {
        "name": name,
        "description": command.summary,
        "path": f"{FOLDER}{name}/SKILL.md",
        "scope": "system",
        "enabled": True,
        "pluginId": None,
        "interface": shown,
    }
