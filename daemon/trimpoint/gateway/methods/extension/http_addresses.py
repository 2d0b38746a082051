"""Where the daemon listens for HTTP, and the one-time addresses with which its owner logs a browser
in.
"""

import time

import anyio
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import LoginUrl

from trimpoint.gateway.session.errors import Refusal
from trimpoint.gateway.session.login_codes import LIFETIME_S, LoginCodes


class HttpAddresses:
    """`known` are the addresses of the TCP listeners that take the token, as `http://host:port`."""

    def __init__(self) -> None:
        self.known: list[str] = []
        self.takes_home_of_client = False
        """Whether a login may be for another home of Codex than the daemon's own: of a daemon that
        clients start in the background, and no person with a home in mind.
        """
        self.codes = LoginCodes()
        self.asked = anyio.Event()
        """Set when an address is wanted though none is configured."""
        self.answered = anyio.Event()
        """Set when that was tried."""

    @property
    def first(self) -> str | None:
        """The address to tell people; None while HTTP is not served over TCP."""
        return self.known[0] if self.known else None

    async def have_one(self) -> None:
        """Return when there is an address, or when it is known that none can be had."""
        if self.first is None:
            self.asked.set()
            await self.answered.wait()

    def login_url(self, codex_home: str | None = None) -> LoginUrl:
        """Return an address that logs in the first browser that opens it, for pages that use
        `codex_home`; the daemon's own if it is None.

        :raises Refusal: HTTP is not served over TCP.
        """
        if self.first is None:
            hint = (
                'Set listen = "127.0.0.1:0" in the [http] table of the configuration, and start '
                "the daemon again."
            )
            raise Refusal(Reason.NOT_SUPPORTED, "The daemon does not serve HTTP over TCP.", hint)
        code = self.codes.new(time.monotonic(), codex_home)
        return LoginUrl(url=f"{self.first}/login?code={code}", expires_in_s=LIFETIME_S)
