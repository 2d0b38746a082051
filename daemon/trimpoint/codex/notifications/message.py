"""A message of Codex, whose parameters are decoded once for all readers."""

from contextlib import suppress
from typing import Any, Self

import msgspec
from msgspec import Raw
from trimpoint_protocol.lenient import as_dict

_THREAD_ID_MEMBER = b',"params":{"threadId":"'
# The bytes before the thread id, without the method's name.
_LEADING_BYTES = len(b'{"method":""') + len(_THREAD_ID_MEMBER)
_decode_members = msgspec.json.Decoder(dict[str, Raw]).decode


class CodexMessage:
    """A notification of Codex, or a request if it has a `request_id`.

    Each parameter is decoded when it is first read. Parameters that are not an object have no
    members. `member` and `object` raise `msgspec.MsgspecError` for a member that cannot be decoded.
    """

    __slots__ = ("_members", "_values", "line", "method", "params", "request_id")

    def __init__(
        self, method: str, params: Raw, line: bytes = b"", request_id: Raw | None = None
    ) -> None:
        self.method = method
        self.params = params
        self.line = line
        """The whole message without its newline; empty for a request."""
        self.request_id = request_id
        self._members: dict[str, Raw] | None = None
        self._values: dict[str, Any] = {}

    @classmethod
    def compose(cls, method: str, params: dict[str, Any]) -> Self:
        """Returns a notification with this method and these parameters, as Codex would have sent
        it.
        """
        encoded = Raw(msgspec.json.encode(params))
        line = msgspec.json.encode({"method": method, "params": encoded})
        return cls(method, encoded, line)

    def with_member(self, name: str, value: object) -> "CodexMessage":
        """Returns the notification with one parameter replaced."""
        whole = msgspec.json.decode(self.line, type=dict[str, Raw])
        members = {**_members_of(self.params), name: value}
        params = Raw(msgspec.json.encode(members))
        line = msgspec.json.encode({**whole, "params": params})
        return CodexMessage(self.method, params, line)

    @property
    def thread_id(self) -> str | None:
        """Returns the parameter `threadId`, or None if it is not a string."""
        leading = self.leading_thread_id
        if leading is not None:
            return leading
        try:
            thread_id = self.member("threadId")
        except msgspec.MsgspecError:
            return None
        return thread_id if isinstance(thread_id, str) else None

    @property
    def leading_thread_id(self) -> str | None:
        """Returns the thread id of a line that begins with `{"method":M,"params":{"threadId":"`, as
        all deltas do, without decoding it; None for other lines.
        """
        start = self._leading_end
        if self.line[start - len(_THREAD_ID_MEMBER) : start] == _THREAD_ID_MEMBER:
            with suppress(UnicodeDecodeError):
                return self.line[start : self.line.find(b'"', start)].decode()
        return None

    @property
    def leading_part(self) -> bytes:
        """Returns the line up to the end of its leading thread id."""
        return self.line[: self.line.find(b'"', self._leading_end) + 1]

    @property
    def _leading_end(self) -> int:
        return len(self.method) + _LEADING_BYTES

    def raw(self, name: str) -> Raw | None:
        """Returns the JSON text of a parameter, or None if it is absent."""
        if self._members is None:
            self._members = _members_of(self.params)
        return self._members.get(name)

    def member(self, name: str) -> Any:
        """Returns the value of a parameter, or None if it is absent."""
        if name not in self._values:
            text = self.raw(name)
            self._values[name] = None if text is None else _decode(text)
        return self._values[name]

    def object(self, name: str) -> dict[str, Any]:
        """Returns a parameter that is an object; empty if it is absent or no object."""
        return as_dict(self.member(name))


def _decode(text: Raw) -> Any:
    try:
        return msgspec.json.decode(text)
    except UnicodeDecodeError as error:  # a string that is not UTF-8
        raise msgspec.DecodeError(str(error)) from error


def _members_of(params: Raw) -> dict[str, Raw]:
    try:
        return _decode_members(params) if params else {}
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return {}
