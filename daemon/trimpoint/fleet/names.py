"""The subjects, streams and keys of a fleet. Pure.

Always true: host and person are separate tokens of a subject. So a connection's rights can be
limited to them, and the subject of a message proves who sent it.
"""

from typing import NamedTuple
from urllib.parse import quote, unquote

HUB_DOMAIN = "hub"
"""The JetStream domain of the servers that `trimpoint fleet init` configures."""
THREAD_SEQUENCE = "Trimpoint-Thread-Sequence"
"""Header: the thread sequence of the last event in a message."""
SEQUENCE = "Trimpoint-Sequence"
"""Header: the global sequence of that event. No two runs of a daemon give out the same one."""


class Names(NamedTuple):
    """The names for one tenant. Hosts and persons match `config.FLEET_NAME`."""

    tenant: str

    @property
    def stream(self) -> str:
        """Returns the name of the stream with the events of all hosts."""
        return f"fleet-{self.tenant}"

    @property
    def all_events(self) -> str:
        """Returns a wildcard for all subjects of the stream."""
        return self.events("*", "*")

    def events(self, host: str, thread: str) -> str:
        """Returns the subject of a thread's events; `thread` is a token or a wildcard."""
        return f"fleet.{self.tenant}.{host}.ev.{thread}"

    def commands(self, host: str, person: str, method: str) -> str:
        """Returns the subject of commands to a host."""
        return f"fleet.{self.tenant}.{host}.cmd.{person}.{method}"

    @property
    def presence_bucket(self) -> str:
        """Returns the name of the bucket with the connected hosts."""
        return f"fleet-{self.tenant}-presence"

    @property
    def threads_bucket(self) -> str:
        """Returns the name of the bucket with the overview of each thread."""
        return f"fleet-{self.tenant}-threads"

    def presence(self, host: str) -> str:
        """Returns the subject of a host's presence."""
        return f"$KV.{self.presence_bucket}.{host}"

    def overview(self, host: str, thread: str) -> str:
        """Returns the subject of a thread's overview; `thread` is a token or a wildcard."""
        return f"$KV.{self.threads_bucket}.{host}.{thread}"


def bucket_stream(bucket: str) -> str:
    """Returns the name of the stream that stores a bucket."""
    return f"KV_{bucket}"


def token_of(thread_id: str) -> str:
    """Encodes a thread id as a token of a subject."""
    return quote(thread_id, safe="").replace(".", "%2E").replace("~", "%7E")


def thread_of(token: str) -> str:
    """Decodes the thread id of a token."""
    return unquote(token)


def host_and_thread(subject: str) -> tuple[str, str]:
    """Returns the host and the thread id of a subject of events or overviews."""
    tokens = subject.split(".")
    is_overview = subject.startswith("$KV.")
    return tokens[2], thread_of(tokens[3 if is_overview else 4])


def inbox_of(person: str) -> str:
    """Returns the prefix of the inboxes where a host or a person receives answers."""
    return f"_INBOX.{person}"
