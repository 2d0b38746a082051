"""A summary of what a scratch thread holds, as text, whatever way this provider compacts."""

import anyio

from trimpoint.operations.compaction.compaction import Compaction
from trimpoint.operations.compaction.sealed_summary import read_sealed_summary
from trimpoint.operations.provider.provider_threads import ProviderThreads, TemporaryThread
from trimpoint.threads.writer import ThreadWriter


async def summarize(
    threads: ProviderThreads,
    writer: ThreadWriter,
    temporary: TemporaryThread,
    guidance: str | None,
    deadline_s: float,
) -> str | None:
    """Compact the scratch thread; None when only the provider can read the summary.

    :raises CompactionFailed: there is no summary, in the person's own words why.
    :raises ProviderFailure: Codex is gone or does not answer.
    """
    compaction = Compaction(threads.link, temporary.id, temporary.path, temporary.watch)
    deadline = anyio.current_time() + deadline_s
    compacted = await compaction.run(guidance, deadline_s)
    if not compacted.sealed:
        return compacted.summary
    # What is left of the one deadline.
    left_s = max(deadline - anyio.current_time(), 1.0)
    with anyio.move_on_after(left_s):
        return await read_sealed_summary(
            threads, writer, temporary.id, temporary.watch.turn_id or "", guidance, left_s
        )
    return None
