"""The subjects that each role may publish and subscribe to. Pure.

Always true: each right names the tenant, and the host or person if the role belongs to one.
Everything that is not listed is forbidden. Only a leaf has all rights of its tenant.
"""

from enum import StrEnum
from typing import NamedTuple

from trimpoint.fleet.names import HUB_DOMAIN, Names, bucket_stream, inbox_of


class Role(StrEnum):
    """The roles. A daemon is a `host`; people are `viewer` or `operator`; `admin` creates the
    streams. A `leaf` is a NATS server at a site, which forwards the messages of its own clients.
    """

    HOST = "host"
    VIEWER = "viewer"
    OPERATOR = "operator"
    ADMIN = "admin"
    LEAF = "leaf"


class Rights(NamedTuple):
    """The subjects that may be used. `answers` is the number of answers that may be sent to one
    message, 0 for none.
    """

    publish: tuple[str, ...]
    subscribe: tuple[str, ...]
    answers: int = 0


def rights_of(role: Role, name: str, tenant: str) -> Rights:
    """Returns the rights of a role for the host or person `name`."""
    names = Names(tenant)
    inbox = f"{inbox_of(name)}.>"
    match role:
        case Role.HOST:
            return Rights(_of_host(names, name), (inbox, names.commands(name, "*", "*")), 8)
        case Role.VIEWER:
            return Rights(_of_reader(names), (inbox,))
        case Role.OPERATOR:
            commands = tuple(
                names.commands("*", name, method) for method in ("clear", "compact", "interrupt")
            )
            return Rights((*_of_reader(names), *commands), (inbox,))
        case Role.ADMIN:
            streams = _apis(*(f"STREAM.*.{stream}" for stream in _streams(names)))
            return Rights((*streams, *_of_reader(names)), (inbox,))
        case Role.LEAF:
            return Rights((">",), (">",))


def _streams(names: Names) -> tuple[str, str, str]:
    return (
        names.stream,
        bucket_stream(names.presence_bucket),
        bucket_stream(names.threads_bucket),
    )


def _of_host(names: Names, host: str) -> tuple[str, ...]:
    """Returns what a host may publish: its own threads and presence, and requests for what the hub
    has of them.
    """
    events = names.events(host, "*")
    return (
        events,
        names.presence(host),
        names.overview(host, "*"),
        *_apis(f"DIRECT.GET.{names.stream}.{events}"),
    )


def _of_reader(names: Names) -> tuple[str, ...]:
    """Returns what a reader may publish: requests for all streams of the tenant, through consumers
    that end with the connection.
    """
    streams = _streams(names)
    rights = (
        right
        for stream in streams
        for right in (
            f"STREAM.INFO.{stream}",
            f"CONSUMER.CREATE.{stream}",
            f"CONSUMER.CREATE.{stream}.>",
            f"CONSUMER.INFO.{stream}.*",
            f"CONSUMER.DELETE.{stream}.*",
        )
    )
    return (*_apis(*rights), *(f"$JS.FC.{stream}.>" for stream in streams))


def _apis(*rights: str) -> tuple[str, ...]:
    """Returns rights for JetStream's API, both at the hub and through a leaf."""
    prefixes = ("$JS.API", f"$JS.{HUB_DOMAIN}.API")
    return tuple(f"{prefix}.{right}" for prefix in prefixes for right in rights)
