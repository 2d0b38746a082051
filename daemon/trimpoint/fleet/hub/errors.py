"""Errors of the hub, and their names in nats."""

# nats gives some of its types without their parameters.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import asyncio

import nats.errors
import nats.js.errors

_WRONG_LAST_SEQUENCE = 10071


class HubFailed(Exception):
    """The servers did not do what was asked; `detail` says why. It may be tried again."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class HubUnreachable(HubFailed):
    """No server takes the connection."""


class StaleWriter(HubFailed):
    """The subject does not end where the writer thought."""


class NobodyListens(HubFailed):
    """No connection has subscribed to the subject: who should answer is away."""


class failures:
    """Turns what nats raises into `HubFailed`."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, nats.js.errors.APIError):
            if error.err_code == _WRONG_LAST_SEQUENCE:
                raise StaleWriter(str(error.description)) from error
            raise HubFailed(str(error.description or error)) from error
        if isinstance(error, nats.js.errors.NoStreamResponseError):
            raise HubFailed(
                "the hub has no stream for it; `trimpoint fleet setup` makes one"
            ) from error
        if isinstance(error, nats.errors.NoRespondersError):
            raise NobodyListens("the hub knows no receiver of this request") from error
        if isinstance(error, nats.errors.Error | TimeoutError | asyncio.TimeoutError | OSError):
            raise HubFailed(f"no answer: {str(error) or type(error).__name__}") from error
