"""The daemon's HTTP addresses, and one-time addresses that log its owner's browser in."""

import time

import anyio
from trimpoint_protocol.errors import Reason
from trimpoint_protocol.methods import LoginUrl

from trimpoint.gateway.session.login_codes import LIFETIME_S, LoginCodes
from trimpoint.gateway.session.requests.errors import Refusal


class HttpAddresses:
    """The addresses at which the daemon serves HTTP. `known` has those of the TCP listeners that
    accept the token, as `http://host:port`.
    """

    def __init__(self) -> None:
        self.known: list[str] = []
        self.takes_home_of_client = False
        """Whether a login may be for another `CODEX_HOME` than the daemon's own. True for a daemon
        that clients start in the background.
        """
        self.codes = LoginCodes()
        self.asked = anyio.Event()
        """Set when a client wants an address although none is configured."""
        self.answered = anyio.Event()
        """Set when the daemon has opened an address after `asked`, or has failed to."""

    @property
    def first(self) -> str | None:
        """Returns the address to show to people, or None while HTTP is not served over TCP."""
        return self.known[0] if self.known else None

    async def have_one(self) -> None:
        """Waits until there is an address, or opening one has failed."""
        if self.first is None:
            self.asked.set()
            await self.answered.wait()

    def login_url(self, codex_home: str | None = None) -> LoginUrl:
        """Returns an address that logs in the first browser that opens it. Its pages use
        `codex_home`, or the daemon's own if that is None.

        :raises Refusal: when HTTP is not served over TCP.
        """
        if self.first is None:
            hint = (
                'Set listen = "127.0.0.1:0" in the [http] table of the configuration, and start '
                "the daemon again."
            )
            raise Refusal(Reason.NOT_SUPPORTED, "The daemon does not serve HTTP over TCP.", hint)
        code = self.codes.new(time.monotonic(), codex_home)
        # Behind the #: browsers send that to no server, and it is in no server's log.
        return LoginUrl(url=f"{self.first}/login#code={code}", expires_in_s=LIFETIME_S)
