"""NKEYs, and the JWTs that they sign for NATS servers. The only module that imports nkeys.

In operator mode, the operator signs accounts and each account signs its users. A server only needs
the operator's and the accounts' JWTs.
"""

# nkeys has no types.
# pyright: reportUnknownMemberType=false, reportArgumentType=false

import base64
import hashlib
import os
import time
from typing import Any, NamedTuple

import msgspec
import nkeys  # type: ignore[import-untyped]

from trimpoint.fleet.roles import Rights

ANSWER_TTL_S = 3600

_PREFIXES = {
    "operator": nkeys.PREFIX_BYTE_OPERATOR,
    "account": nkeys.PREFIX_BYTE_ACCOUNT,
    "user": nkeys.PREFIX_BYTE_USER,
}


class Key(NamedTuple):
    """A key pair. `seed` is the private key."""

    seed: str

    @property
    def public(self) -> str:
        """Returns the public key."""
        return str(nkeys.from_seed(bytearray(self.seed.encode())).public_key, "ascii")

    def sign(self, message: bytes) -> bytes:
        """Signs a message and returns the signature."""
        return bytes(nkeys.from_seed(bytearray(self.seed.encode())).sign(message))


def new_key(kind: str) -> Key:
    """Creates a key of the kind `operator`, `account` or `user`."""
    return Key(str(nkeys.encode_seed(os.urandom(32), _PREFIXES[kind]), "ascii"))


def operator_jwt(operator: Key, name: str, system_account: str) -> str:
    """Returns the operator's JWT, which the operator signs itself."""
    facts = {"type": "operator", "version": 2, "system_account": system_account}
    return _signed(operator, operator.public, name, facts)


def account_jwt(operator: Key, account: str, name: str, *, jetstream: bool) -> str:
    """Returns an account's JWT; without `jetstream` the account cannot store messages."""
    limits: dict[str, Any] = {
        "subs": -1, "data": -1, "payload": -1, "imports": -1, "exports": -1, "wildcards": True,
        "conn": -1, "leaf": -1,
    }  # fmt: skip
    if jetstream:
        limits |= {"mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    facts = {"type": "account", "version": 2, "limits": limits}
    return _signed(operator, account, name, facts)


def user_jwt(
    account: Key, user: str, name: str, rights: Rights | None, expires_at_s: int | None = None
) -> str:
    """Returns a user's JWT; without `rights` the user has all rights of the account."""
    facts: dict[str, Any] = {
        "type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1,
    }  # fmt: skip
    if rights is not None:
        facts |= {"pub": {"allow": rights.publish}, "sub": {"allow": rights.subscribe}}
        if rights.answers:
            facts["resp"] = {"max": rights.answers, "ttl": ANSWER_TTL_S * 10**9}
    return _signed(account, user, name, facts, expires_at_s)


def credentials(jwt: str, user: Key) -> str:
    """Returns the content of a credentials file."""
    return (
        f"-----BEGIN NATS USER JWT-----\n{jwt}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n"
    )


def _signed(
    issuer: Key, subject: str, name: str, facts: dict[str, Any], expires_at_s: int | None = None
) -> str:
    claims: dict[str, Any] = {
        "iat": int(time.time()), "iss": issuer.public, "name": name, "sub": subject, "nats": facts,
    }  # fmt: skip
    if expires_at_s is not None:
        claims["exp"] = expires_at_s
    digest = hashlib.sha512(msgspec.json.encode(claims)).digest()
    claims["jti"] = base64.b32encode(digest).decode().rstrip("=")
    head = msgspec.json.encode({"typ": "JWT", "alg": "ed25519-nkey"})
    signed = b".".join((_base64url(head), _base64url(msgspec.json.encode(claims))))
    return b".".join((signed, _base64url(issuer.sign(signed)))).decode()


def _base64url(data: bytes) -> bytes:
    return base64.urlsafe_b64encode(data).rstrip(b"=")
