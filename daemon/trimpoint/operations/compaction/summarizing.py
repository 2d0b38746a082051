"""Summarizes a temporary provider thread, and returns the summary as text for every provider."""

import anyio

from trimpoint.operations.compaction.compaction import Compaction
from trimpoint.operations.compaction.sealed_summary import read_sealed_summary
from trimpoint.operations.provider.provider_threads import ProviderThreads, TemporaryThread
from trimpoint.threads.writing.writer import ThreadWriter


async def summarize(
    threads: ProviderThreads,
    writer: ThreadWriter,
    temporary: TemporaryThread,
    guidance: str | None,
    deadline_s: float,
) -> str | None:
    """Compacts the temporary thread and returns the summary, or None when only the provider can
    read it.

    :raises CompactionFailed: when there is no summary; the message is for a person.
    :raises ProviderFailure: when Codex ended or did not answer.
    """
    compaction = Compaction(threads.link, temporary.id, temporary.path, temporary.watch)
    deadline = anyio.current_time() + deadline_s
    compacted = await compaction.run(guidance, deadline_s)
    if not compacted.sealed:
        return compacted.summary
    # The rest of the deadline, which covers both requests.
    left_s = max(deadline - anyio.current_time(), 1.0)
    with anyio.move_on_after(left_s):
        return await read_sealed_summary(
            threads, writer, temporary.id, temporary.watch.turn_id or "", guidance, left_s
        )
    return None
