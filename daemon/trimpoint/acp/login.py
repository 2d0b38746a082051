"""Logs Codex in and out for an editor."""

import uuid
import webbrowser
from collections.abc import Callable

import msgspec
from trimpoint_protocol.lenient import Json, as_text

from trimpoint.acp.connection.daemon import DaemonLink
from trimpoint.acp.connection.editor import Editor
from trimpoint.acp.connection.peer import INTERNAL, INVALID_PARAMS, Incoming, RpcError
from trimpoint.acp.sessions.catalogue import Catalogue
from trimpoint.acp.wire.answers import AuthMethod

AUTH_REQUIRED = -32000
CHATGPT, DEVICE_CODE, API_KEY, TERMINAL = "chatgpt", "chatgpt-device-code", "api-key", "terminal"
API_KEY_VARIABLES = ("CODEX_API_KEY", "OPENAI_API_KEY")


class Login:
    """The login of Codex. `environ` may contain an API key; `open_browser` opens an address for the
    person.
    """

    def __init__(
        self,
        link: DaemonLink,
        editor: Editor,
        catalogue: Catalogue,
        environ: dict[str, str],
        open_browser: Callable[[str], bool] = webbrowser.open,
    ) -> None:
        self._link = link
        self._editor = editor
        self._catalogue = catalogue
        self._environ = environ
        self._open_browser = open_browser

    async def methods(self) -> list[AuthMethod]:
        """Returns the ways to log in; an empty list if Codex needs no login."""
        try:
            if not await self._catalogue.needs_login():
                return []
        except RpcError:
            pass  # in doubt they are offered; each does nothing where nothing is needed
        offered = [
            AuthMethod(
                id=CHATGPT, name="Log in with ChatGPT", description="Opens a page in the browser."
            ),
        ]
        if self._editor.capabilities.url:
            offered.append(AuthMethod(id=DEVICE_CODE, name="Log in with ChatGPT on another device"))
        if self._api_key() is not None:
            offered.append(AuthMethod(id=API_KEY, name="Use the API key of the environment"))
        if self._editor.capabilities.terminal_login:
            offered.append(
                AuthMethod(
                    id=TERMINAL, name="Log in in a terminal", type="terminal", args=["--login"]
                )
            )
        return offered

    async def authenticate(self, request: Incoming, method_id: str) -> None:
        """Logs Codex in by the method `method_id`; does nothing if Codex needs no login.

        :raises RpcError: when there is no such method, or the login failed.
        """
        if not await self._catalogue.needs_login():
            return
        match method_id:
            case "chatgpt":
                await self._log_in(request, {"type": "chatgpt"}, "authUrl")
            case "chatgpt-device-code":
                await self._log_in(request, {"type": "chatgptDeviceCode"}, "verificationUrl")
            case "api-key" if (key := self._api_key()) is not None:
                await self._link.request("account/login/start", type="apiKey", apiKey=key)
            case _:
                raise RpcError(INVALID_PARAMS, f"There is no login method {method_id!r}.")

    async def require(self) -> None:
        """Raises RpcError if a person has to log Codex in first."""
        if await self._catalogue.needs_login():
            raise RpcError(AUTH_REQUIRED, "Codex is not logged in.", {"reason": "unauthorized"})

    async def log_out(self) -> None:
        """Logs Codex out, for all its clients.

        :raises RpcError: when Codex refused.
        """
        await self._link.request("account/logout")

    async def _log_in(self, request: Incoming, params: Json, url_member: str) -> None:
        completed = self._link.next_notification("account/login/completed")
        begun = await self._link.request("account/login/start", **params)
        url, code = as_text(begun.get(url_member)), as_text(begun.get("userCode"))
        elicitation_id = str(uuid.uuid4())
        message = f"Log in to ChatGPT. The code is {code}." if code else "Log in to ChatGPT."
        if self._editor.capabilities.url:
            asked: Json = {
                "mode": "url",
                "elicitationId": elicitation_id,
                "url": url,
                "message": message,
            }
            asked["requestId"] = msgspec.json.decode(request.id)
            answer = await self._editor.ask("elicitation/create", asked)
            if answer.get("action") != "accept":
                await self._link.request("account/login/cancel", loginId=begun.get("loginId"))
                raise RpcError(AUTH_REQUIRED, "The login was declined.")
        elif not self._open_browser(url):
            raise RpcError(
                INTERNAL, f"No browser could be opened. Open this address to log in: {url}"
            )
        ended = await completed
        self._editor.elicitation_complete(elicitation_id)
        if not ended.get("success"):
            raise RpcError(AUTH_REQUIRED, as_text(ended.get("error")) or "The login did not work.")

    def _api_key(self) -> str | None:
        return next((key for name in API_KEY_VARIABLES if (key := self._environ.get(name))), None)
