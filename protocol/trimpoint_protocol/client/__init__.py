"""A client of the daemon for asyncio and Trio. Only this package of the library needs anyio.

`client` has the methods of the protocol as typed functions, `connection` sends requests and
receives answers, `messages` are notifications and questions of the daemon, `errors` the exceptions.
"""

from trimpoint_protocol.client.calls import use_profile
from trimpoint_protocol.client.client import (
    Client,
    ClientInfo,
    Following,
    ServerInfo,
    Turn,
    connect,
    connect_stream,
    initialize,
    new_command_id,
)
from trimpoint_protocol.client.connection import (
    Connection,
    PendingAnswer,
    Stream,
    open_connection,
)
from trimpoint_protocol.client.errors import (
    ClientError,
    ConnectionLost,
    DeadlinePassed,
    RemoteError,
)
from trimpoint_protocol.client.messages import (
    Inbox,
    Message,
    MessageSink,
    Notification,
    ServerRequest,
)

__all__ = [
    "Client",
    "ClientError",
    "ClientInfo",
    "Connection",
    "ConnectionLost",
    "DeadlinePassed",
    "Following",
    "Inbox",
    "Message",
    "MessageSink",
    "Notification",
    "PendingAnswer",
    "RemoteError",
    "ServerInfo",
    "ServerRequest",
    "Stream",
    "Turn",
    "connect",
    "connect_stream",
    "initialize",
    "new_command_id",
    "open_connection",
    "use_profile",
]
