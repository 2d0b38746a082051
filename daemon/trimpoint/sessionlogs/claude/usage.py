"""Adds up the usage of a session's answers. Pure."""

from trimpoint.sessionlogs.claude.messages import usage_of
from trimpoint.sessionlogs.claude.rows import Row
from trimpoint.sessionlogs.records import Records


class AnswerUsage:
    """Adds the usage of each answer once, in the first reading.

    The first rows of an answer have the output up to there, so the largest one counts.
    """

    def __init__(self, records: Records) -> None:
        self._records = records
        self._counted: dict[str, int] = {}

    def count(self, row: Row, answer_id: str | None, *, copied: bool) -> None:
        """Reads a row of the answer `answer_id`, or of one without an id. One that was `copied`
        from another session does not count.
        """
        used = row.message.usage if row.message is not None else None
        if used is None or self._records.wanted or copied:
            return
        key = answer_id or row.uuid or ""
        usage = usage_of(used)
        if usage is None or not usage.total_tokens:
            return
        counted = self._counted.get(key)
        if counted is None:
            self._records.usage.add(usage)
        elif usage.output_tokens > counted:
            self._records.usage.add_output(usage.output_tokens - counted)
        self._counted[key] = max(counted or 0, usage.output_tokens)
