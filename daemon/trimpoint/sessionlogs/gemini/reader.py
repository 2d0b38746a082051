"""Reads a session of Gemini CLI: lines in, unified records out (docs/session-logs.md). Pure.

Always true: a message is written again while its tools run, and its last form counts; a list of
messages that is set is the live context. Such a list is a boundary only if it contains a new
summary, and never a rewind, because a process that resumes a session sets the first message and
then all of them.
"""

from datetime import timedelta
from typing import Any, NamedTuple

from trimpoint_protocol import unified as u

from trimpoint.sessionlogs.content import Content
from trimpoint.sessionlogs.gemini.clears import cleared_in_place
from trimpoint.sessionlogs.gemini.copies import copies_among, features_of
from trimpoint.sessionlogs.gemini.messages import (
    answers_in,
    content_of,
    is_snapshot,
    text_of,
    usage_of,
)
from trimpoint.sessionlogs.gemini.prompt_log import PromptLog, time_of
from trimpoint.sessionlogs.gemini.rows import Header, Message, Patch, Tokens, record_of
from trimpoint.sessionlogs.made_ids import made_id
from trimpoint.sessionlogs.ranges import Ranges
from trimpoint.sessionlogs.reading import About
from trimpoint.sessionlogs.records import Records
from trimpoint.sessionlogs.text.whole import WholeFile

# A compression is typed, then takes as long as its model does.
TYPED_WITHIN = timedelta(seconds=120)
COMPRESSED = "Context compressed"
UNWRITTEN = (
    "The log tells of a compression and not what it left; its model may have seen a summary."
)
NO_TIME_YET = timedelta(seconds=2)


class Part(NamedTuple):
    """The file of a session. `is_whole`: it is one JSON object, as older versions write."""

    name: str
    is_whole: bool = False


class GeminiReader:
    """Reads one file: `begin_part`, `feed` for each line, and `finish` after the last one."""

    part_done = False

    def __init__(self, session_id: str, cwd: str | None, log: PromptLog, records: Records) -> None:
        self._session_id = session_id
        self._cwd = cwd
        self._log = log
        self._records = records
        self._window = records.window
        self._live: dict[str, int] = {}
        self._indices: dict[str, int] = {}
        self._contents: dict[int, int] = {}
        self._answers: dict[str, int] = {}  # the message that has a call's result
        self._tokens: dict[str, Tokens] = {}
        self._newest_input: int | None = None
        self._typed = 0  # so many of the typed compressions have been found in the log
        self._pending: dict[str, Any] | None = None
        self._header = Header()
        self._part = Part("")
        self._is_whole = False
        self._line = 0
        self._whole: WholeFile | None = None

    def begin_part(self, part: Part) -> None:
        """Begins a file."""
        self._end_whole()
        self._part, self._line, self._is_whole = part, 0, part.is_whole
        self._whole = WholeFile() if part.is_whole else None
        self._records.wait_for_changes()

    def feed(self, line: bytes) -> None:
        """Reads one line, including its line feed."""
        self._line += 1
        self._records.lines += 1
        if self._whole is not None:
            self._whole.add(line)
            return
        record = record_of(line)
        if record is None:
            self._records.unreadable(line)
        else:
            self._take(record)

    def _take(self, record: Message | Patch | Header | str) -> None:
        match record:
            case Message():
                self._upsert(record)
            case Patch():
                self._patch(record)
            case Header():
                self._begin(record)
            case _:
                self._rewind_to(record)

    def _begin(self, header: Header) -> None:
        if self._header.session_id is None:
            self._header = header
        elif self._is_whole and self._window.count:
            self._cleared(header)
        for message in header.messages or ():
            self._upsert(message)

    def _cleared(self, header: Header) -> None:
        """Begins a further file of a session, which older versions begin at a clear."""
        self._settle()
        after, last = self._records.last_index, self._records.last_timestamp
        self._live = {}
        self._window.relive(Ranges())
        self._records.put(
            cleared_in_place(self._session_id, after, self._log, last, header.start_time)
        )

    def _upsert(self, message: Message) -> None:
        message_id = message.id or made_id(self._session_id, self._window.count)
        index = self._live.get(message_id)
        if message.type == "info":
            self._compression_notice(text_of(message))
        if index is None:
            index = self._add(message, message_id)
        else:
            content = self._content(message)
            self._records.update(index, content, message.timestamp, self._source())
            self._noted(index, message, content)
        self._used(message, message_id)

    def _add(self, message: Message, message_id: str) -> int:
        content = self._content(message)
        for result in content.tool_results if message.type == "user" else ():
            self._answered_by_a_row(result)
        index = self._records.message(
            content, timestamp=message.timestamp, source_ref=self._source()
        )
        self._noted(index, message, content)
        self._live[message_id] = self._indices[message_id] = index
        return index

    def _noted(self, index: int, message: Message, content: Content) -> None:
        """Stores the content of a message, so that copies of it are recognized."""
        self._contents[index] = hash(features_of(message))
        for result in content.tool_results:
            self._answers[result.call_id or ""] = index

    def _content(self, message: Message) -> Content:
        content = content_of(message, self._records)
        self._records.model = content.model or self._records.model
        return content

    def _answered_by_a_row(self, result: u.ToolResult) -> None:
        """Removes a result from the message with the call if the result has a message of its
        own.
        """
        if result.call_message_index is not None:
            self._records.drop_result(result.call_message_index, result.call_id)

    def _used(self, message: Message, message_id: str) -> None:
        if message.tokens is None:
            return
        if not self._records.wanted:  # the first reading has added them up
            self._tokens[message_id] = message.tokens
        if message.tokens.input:
            self._newest_input = message.tokens.input
            if self._pending is not None:
                self._pending["post_tokens"] = message.tokens.input
                self._settle()

    # --- boundaries and rewinds

    def _patch(self, patch: Patch) -> None:
        if patch.summary:
            self._header.summary = patch.summary
        if patch.messages is None:
            return
        live = list(self._live.values())
        copies = copies_among(patch.messages, live, self._contents, self._indices)
        snapshot = self._new_snapshot(patch.messages, live, copies)
        named = {self._indices.get(message.id or "") for message in patch.messages}
        stays = named | set(copies.values())
        kept = Ranges.of(index for index in self._live.values() if index in stays)
        if snapshot is not None:
            self._compressed(patch, kept)
        self._live = {}
        for at, message in enumerate(patch.messages):
            self._set(message, copies.get(at))
        self._window.relive(Ranges.of(self._live.values()))
        if snapshot is not None and self._pending is not None:
            self._pending["summary_message_index"] = self._indices[snapshot.id or ""]
            self._pending["summary"] = text_of(snapshot).strip()

    def _new_snapshot(
        self, messages: list[Message], live: list[int], copies: dict[int, int]
    ) -> Message | None:
        """Returns the summary that a list of messages adds, or None. This summary and the answer
        after it are not copies, even if equal ones exist.

        A list that repeats a summary, because a saved chat was resumed, is as long as the live
        context, or lacks the newest message.
        """
        for at, message in enumerate(messages):
            if message.id in self._indices or not is_snapshot(message):
                continue
            newest = copies.get(len(messages) - 1, self._indices.get(messages[-1].id or ""))
            if at in copies and (len(messages) >= len(live) or newest != live[-1]):
                continue
            copies.pop(at, None)
            copies.pop(at + 1, None)
            return message
        return None

    def _set(self, message: Message, copied: int | None) -> None:
        message.id = message.id or made_id(self._session_id, self._window.count)
        if copied is None and message.id not in self._indices:
            copied = self._repeated(message)
        if copied is not None:
            self._indices[message.id] = copied
        if message.id in self._indices:
            self._live[message.id] = self._indices[message.id]
        else:
            self._add(message, message.id)

    def _repeated(self, message: Message) -> int | None:
        """Returns the index of the message whose results a row repeats, or None: a resumed session
        writes each result a second time (measured: 0.61.0).
        """
        answered = answers_in(message)
        known = [self._answers[call_id] for call_id in answered if call_id in self._answers]
        return known[0] if answered and len(known) == len(answered) else None

    def _compressed(self, patch: Patch, kept: Ranges) -> None:
        self._settle()
        after = self._records.last_index
        at = patch.last_updated or self._records.last_timestamp
        removed = self._window.replace(kept, at)
        trigger, source = self._trigger(at)
        wanted = self._records.wanted
        self._pending = {
            "after_message_index": after,
            "uuid": made_id(self._session_id, self._line),
            "trigger": trigger,
            "trigger_source": source,
            "pre_tokens": self._newest_input,
            "post_tokens": None,
            "replaced_message_indices": list(removed) if wanted else [],
            "kept_message_indices": list(kept) if wanted else [],
            "source_ref": self._source(),
            "timestamp": at,
            "undone": self._records.newest_boundary_undone(),
            "summary": None,
        }

    def _trigger(self, at: str | None) -> tuple[u.Trigger | None, str | None]:
        """Returns the trigger of a compression: manual if the command was typed directly before;
        automatic if there is a log and it was not.
        """
        moment = time_of(at)
        if moment is None or not self._log.is_there:
            return None, None
        for number, typed in enumerate(self._log.compressions[self._typed :], self._typed + 1):
            if -NO_TIME_YET <= moment - typed.at <= TYPED_WITHIN:
                self._typed = number
                return "manual", "logs.json"
        return "auto", "logs.json"

    def _compression_notice(self, text: str) -> None:
        """Reads the message that Gemini CLI adds after an automatic compression, also in versions
        that do not write down what it left (measured: 0.61.0, 0.37.2).
        """
        if not text.startswith(COMPRESSED):
            return
        if self._pending is not None:
            self._pending |= {"trigger": "auto", "trigger_source": "log"}
        else:
            self._records.note(UNWRITTEN)

    def _settle(self) -> None:
        pending, self._pending = self._pending, None
        if pending is not None:
            self._records.put(u.BoundaryRecord(**pending))

    def _rewind_to(self, message_id: str) -> None:
        names = list(self._live)
        at = names.index(message_id) if message_id in self._live else 0
        dropped = Ranges.of(self._live[name] for name in names[at:])
        self._live = {name: self._live[name] for name in names[:at]}
        taken = self._window.rewind_dropping(dropped)
        self._records.rewound(taken, self._records.last_timestamp, self._source())

    def _source(self) -> u.SourceRef:
        return u.SourceRef(file=self._part.name, line=self._line)

    def finish(self) -> None:
        """Ends the log."""
        self._end_whole()
        self._settle()
        if self._is_whole and any(
            one.session_id == self._session_id for one in self._log.compressions
        ):
            self._records.note(UNWRITTEN)
        for tokens in self._tokens.values():
            usage = usage_of(tokens)
            if usage is not None:
                self._records.usage.add(usage)
        self._records.put_clears()
        self._records.close()

    def _end_whole(self) -> None:
        whole, self._whole = self._whole, None
        if whole is None:
            return
        data = whole.content()
        record = record_of(data) if data is not None else None
        self._line = 1
        if isinstance(record, Header):
            self._begin(record)
        else:
            self._records.unparsed += 1

    def about(self) -> About:
        """Returns the data about the session in the header."""
        directories = self._header.directories or []
        return About(
            cwd=self._cwd or (directories[0] if directories else None),
            created_at=self._header.start_time,
            title=self._header.summary,
        )
