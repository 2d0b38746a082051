"""The errors of the hub, translated from those of nats."""

# nats gives some of its types without their parameters.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

import asyncio

import nats.errors
import nats.js.errors

_WRONG_LAST_SEQUENCE = 10071


class HubFailed(Exception):
    """Raised when the servers did not do what was requested; `detail` says why. The request may be
    repeated.
    """

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.detail = detail

    def __str__(self) -> str:
        return self.detail


class HubUnreachable(HubFailed):
    """Raised when no server accepts the connection."""


class StaleWriter(HubFailed):
    """Raised when the last message of the subject is not the one that the writer expected."""


class NoReceiver(HubFailed):
    """Raised when nobody has subscribed to the subject, because the host is not connected."""


class failures:
    """A context manager that translates errors of nats to `HubFailed`."""

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
            raise NoReceiver("the hub knows no receiver of this request") from error
        if isinstance(error, nats.errors.Error | TimeoutError | asyncio.TimeoutError | OSError):
            raise HubFailed(f"no answer: {str(error) or type(error).__name__}") from error
