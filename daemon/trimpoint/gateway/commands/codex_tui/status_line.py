"""The meter in the footer of Codex's own terminal UI, whose status line comes from an MCP server.

There is no such server. The list of servers shows one called `trimpoint`, and reads from it are
answered here, for the thread that the UI shows. Shapes and limits: Codex 0.171.
"""

from typing import Any

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict, as_list
from trimpoint_protocol.readmodel import ContextStatus

from trimpoint import __version__
from trimpoint.codex.appserver.supervisor import CodexLink
from trimpoint.core.context.context_size import percent_text
from trimpoint.gateway.commands.views.context_meters import ContextMeters
from trimpoint.gateway.ids.identity import Identity
from trimpoint.gateway.session.codex_tui import is_codex_tui
from trimpoint.gateway.session.requests.ordered_request import request_in_order
from trimpoint.gateway.session.requests.request import ClientRequest, Handler
from trimpoint.threads.errors import ThreadError

SERVER, TOOL = "trimpoint", "context_meter"
URI = "ui://trimpoint/context-meter"
STATE = "com.openai/codex-statusline-state"
COLORS = {"ok": "green", "warning": "yellow", "critical": "red"}

Element = dict[str, Any]


class StatusLine:
    """Answers requests about the server `trimpoint`; `forward` handles requests about other
    servers.
    """

    def __init__(
        self, link: CodexLink, meters: ContextMeters, identity: Identity, forward: Handler
    ) -> None:
        self._link = link
        self._meters = meters
        self._identity = identity
        self._forward = forward
        self.handlers: dict[str, Handler] = {
            "mcpServerStatus/list": self._list,
            "mcpServer/resource/read": self._read,
        }

    async def _list(self, client_request: ClientRequest) -> Any:
        if not is_codex_tui(client_request.client):
            return await self._forward(client_request)
        if client_request.params().get("serverName") == SERVER:
            return {"data": [_server()], "nextCursor": None}
        params = self._identity.to_provider(
            msgspec.json.encode(client_request.params()), client_request.method
        )
        raw = await request_in_order(
            self._link,
            client_request.method,
            Raw(params),
            Raw.copy,
            on_sent=client_request.on_sent,
        )
        return _with_own(as_dict(msgspec.json.decode(self._identity.to_client(bytes(raw)))))

    async def _read(self, client_request: ClientRequest) -> Any:
        params = client_request.params()
        if (params.get("server"), params.get("uri")) != (SERVER, URI):
            return await self._forward(client_request)
        shown = as_dict(as_dict(as_dict(params.get("_meta")).get(STATE)).get("thread"))
        tree = status_line(shown, await self._status(shown.get("id") or params.get("threadId")))
        content = {
            "uri": URI,
            "mimeType": "application/json",
            "text": msgspec.json.encode(tree).decode(),
        }
        return {"contents": [content], "originCallId": None}

    async def _status(self, thread_id: Any) -> ContextStatus | None:
        """Returns the meter, or None for a thread without one. An error would remove the status
        line.
        """
        try:
            known = self._identity.thread_of(str(thread_id)) or str(thread_id)
            return await self._meters.status(known)
        except ThreadError:
            return None


def status_line(shown: dict[str, Any], status: ContextStatus | None) -> Element:
    """Returns the elements of the status line: those of the UI's own footer, and the meter."""
    model = as_dict(shown.get("model"))
    words = (model.get("display_name"), model.get("reasoning_level"))
    parts = [
        (" ".join(str(word) for word in words if word), "status-model"),
        (str(as_dict(shown.get("workspace")).get("cwd") or ""), "status-path"),
        (str(shown.get("name") or ""), "status-thread"),
        *(_meter(status) if status is not None else ()),
    ]
    children = [_text(text, color) for text, color in parts if text]
    return {"type": "row", "props": {"gap": 2, "wrap": "wrap"}, "children": children}


def _meter(status: ContextStatus) -> list[tuple[str, str]]:
    about = "~" if status.estimated or status.unknown else ""
    tokens = f"{about}{_short(status.used_tokens)}"
    color = COLORS.get(status.level or "", "status-usage")
    if status.percent is None or status.window_tokens is None:
        return [(f"Context: {tokens}", color)] if status.used_tokens else []
    meter = [
        (f"Context: {about}{percent_text(status.percent)}", color),
        (f"{tokens}/{_short(status.window_tokens)}", "status-usage"),
    ]
    if status.compaction_count:
        meter.append((f"compacted ×{status.compaction_count}", "status-metadata"))
    return meter


def _short(tokens: int) -> str:
    if tokens < 1000:
        return str(tokens)
    return f"{tokens / 1000:.1f}k" if tokens < 100_000 else f"{round(tokens / 1000)}k"


def _text(text: str, color: str) -> Element:
    return {"type": "text", "props": {"color": color}, "children": [text]}


def _with_own(answer: dict[str, Any]) -> dict[str, Any]:
    """Adds our server to the last page of servers, unless the configuration has one of the same
    name.
    """
    servers = as_list(answer.get("data"))
    if answer.get("nextCursor") or any(as_dict(one).get("name") == SERVER for one in servers):
        return answer
    return {**answer, "data": [*servers, _server()]}


def _server() -> dict[str, Any]:
    entry = {"type": "statusline", "resourceUri": URI}
    tool: dict[str, Any] = {
        "name": TOOL,
        "title": "Context meter of trimpoint",
        "description": "How full the agent's context is.",
        "inputSchema": {"type": "object", "properties": {}},
        "_meta": {"openai/ui": {"entrypoints": [entry]}},
    }
    return {
        "name": SERVER, "environmentId": None, "runtimeStatus": "connected", "pluginId": None,
        "httpOrigin": None, "serverInfo": {"name": SERVER, "version": __version__},
        "serverCapabilities": None, "toolListMeta": None, "tools": {TOOL: tool}, "toolsError": None,
        "resources": [{"name": TOOL, "uri": URI, "mimeType": "application/json"}],
        "resourceTemplates": [], "authStatus": "unsupported",
    }  # fmt: skip
