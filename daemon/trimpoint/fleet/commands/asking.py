"""Sends a person's commands to a host."""

import base64
import binascii
import getpass
from contextlib import aclosing
from pathlib import Path

import anyio
import msgspec

from trimpoint.config.sections import FLEET_NAME
from trimpoint.fleet.commands.requests import FleetAnswer, FleetCommand, Method
from trimpoint.fleet.hub.connection import Hub, read_credentials
from trimpoint.fleet.hub.errors import NoReceiver
from trimpoint.fleet.names import Names

FIRST_ANSWER_S = 10.0
"""A host that is there answers at once that it has begun."""
GRACE_S = 5.0


class HostAway(Exception):
    """Raised when the host does not answer. As far as is known, it did nothing."""

    def __init__(self, host: str, *, is_known: bool) -> None:
        super().__init__(host)
        self.host = host
        self.is_known = is_known
        """Whether it is certain that the host did not get the command."""


async def ask(
    hub: Hub, names: Names, host: str, person: str, method: Method, command: FleetCommand
) -> FleetAnswer:
    """Sends a command and returns the host's last answer; `unfinished` if the host does not finish
    before the deadline.

    :raises HostAway: when the host is not connected, or does not answer.
    :raises HubFailed: when the connection is lost, or the server refused the message.
    """
    subject = names.commands(host, person, method)
    has_begun = False
    answers = hub.ask(subject, msgspec.json.encode(command))
    try:
        async with aclosing(answers):
            with anyio.fail_after(FIRST_ANSWER_S) as scope:
                async for data in answers:
                    answer = msgspec.json.decode(data, type=FleetAnswer)
                    if answer.kind != "begun":
                        return answer
                    has_begun = True
                    scope.deadline = anyio.current_time() + command.deadline_s + GRACE_S
    except NoReceiver:
        raise HostAway(host, is_known=True) from None
    except TimeoutError:
        if not has_begun:
            raise HostAway(host, is_known=False) from None
    return FleetAnswer("unfinished", message="The host has begun, and said nothing more.")


def person_of(credentials: Path | None) -> str:
    """Returns the name in the credentials, or the user's login name if they have none.

    :raises OSError: when the file cannot be read.
    :raises ValueError: when others can read it, or the name contains characters that a subject
        must not have.
    """
    claims = _claims_in(read_credentials(credentials)) if credentials else None
    name = (claims.name if claims is not None else None) or getpass.getuser()
    if not FLEET_NAME.fullmatch(name):
        raise ValueError(f"{name!r} cannot name a person of a fleet")
    return name


def may_command(credentials: Path | None, person: str) -> bool:
    """Returns whether the credentials permit commands; True if they contain no permissions.

    :raises OSError: when the file cannot be read.
    :raises ValueError: when others can read it.
    """
    claims = _claims_in(read_credentials(credentials)) if credentials else None
    allowed = None if claims is None else claims.nats.pub.allow
    return allowed is None or any(f".cmd.{person}." in subject for subject in allowed)


def _claims_in(text: str) -> "_Claims | None":
    for line in text.splitlines():
        parts = line.split(".")
        if len(parts) == 3:
            try:
                claims = base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
                return msgspec.json.decode(claims, type=_Claims)
            except (binascii.Error, msgspec.MsgspecError):
                return None
    return None


class _Subjects(msgspec.Struct, frozen=True):
    allow: tuple[str, ...] | None = None


class _Rights(msgspec.Struct, frozen=True):
    pub: _Subjects = _Subjects()


class _Claims(msgspec.Struct, frozen=True):
    name: str | None = None
    nats: _Rights = _Rights()
