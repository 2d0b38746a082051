"""Handles `checkpoint/storage` and `checkpoint/prune`: the size of the stored checkpoints, and the
removal of those whose thread is gone.

Refs are removed only on request, and those of an existing thread only when everything is to be
removed.
"""

from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

from trimpoint_protocol.errors import Reason
from trimpoint_protocol.shapes import checkpoints as cp

from trimpoint.core.model.clock import rfc3339
from trimpoint.gateway.session.requests.dispatch import Call, Handler
from trimpoint.gateway.session.requests.errors import Refusal
from trimpoint.git.capture.inventory import RepositoryCheckpoints, kept_below
from trimpoint.git.capture.refs import KeptRef, delete_refs, list_refs, refs_disk_bytes, thread_part
from trimpoint.git.capture.upkeep import collect, remove_all
from trimpoint.git.errors import GitError
from trimpoint.git.plumbing.repository import NoRepository, discover
from trimpoint.threads.registry import ThreadRegistry


class CheckpointStorage:
    """Handles `checkpoint/storage` and `checkpoint/prune`. `table` maps method names to
    handlers.
    """

    def __init__(self, registry: ThreadRegistry) -> None:
        self._registry = registry
        self.table: dict[str, Handler] = {
            "checkpoint/storage": self._storage,
            "checkpoint/prune": self._prune,
        }

    async def _storage(self, call: Call, params: cp.StorageParams) -> cp.CheckpointStorage:
        return cp.CheckpointStorage(
            repositories=[
                await self._measured(kept) for kept in await self._all_kept(params.folder)
            ]
        )

    async def _prune(self, call: Call, params: cp.PruneParams) -> cp.PruneResult:
        if params.all:
            return await self._remove_all(params)
        chosen = self._chosen(params.thread_ids)
        going = [
            RepositoryCheckpoints(kept.repository, refs)
            for kept in await self._all_kept(params.folder)
            if (
                refs := [
                    ref
                    for ref in kept.refs
                    if (
                        ref.thread in chosen
                        if chosen is not None
                        else ref.thread not in self._books
                    )
                ]
            )
        ]
        if not params.dry_run:
            for kept in going:
                await delete_refs(kept.repository, [ref.ref for ref in kept.refs])
                await collect(kept.repository)
        return cp.PruneResult(
            repositories=[self._to_wire(kept, None) for kept in going],
            refs=sum(len(kept.refs) for kept in going),
            deleted=not params.dry_run,
        )

    async def _remove_all(self, params: cp.PruneParams) -> cp.PruneResult:
        if params.thread_ids is not None:
            raise Refusal(Reason.INVALID_PARAMS, "Set threadIds or all, but not both.")
        going = await self._all_kept(params.folder)
        stay: list[str] = []
        for kept in going if not params.dry_run else ():
            stay += [str(path) for path in await remove_all(kept.repository)]
        return cp.PruneResult(
            repositories=[self._to_wire(kept, None) for kept in going],
            refs=sum(len(kept.refs) for kept in going),
            deleted=not params.dry_run,
            kept=stay,
        )

    @property
    def _books(self) -> dict[str, str]:
        """Returns the ids of all threads, by the names that their refs contain."""
        return {thread_part(thread_id): thread_id for thread_id in self._registry.summaries}

    def _chosen(self, thread_ids: list[str] | None) -> set[str] | None:
        if thread_ids is None:
            return None
        for thread_id in thread_ids:
            if thread_part(thread_id) in self._books:
                message = (
                    f"The thread {thread_id} has not been deleted, so its checkpoints may be "
                    "needed for a revert."
                )
                raise Refusal(
                    Reason.INVALID_PARAMS, message, "Delete the thread first, with thread/delete."
                )
        return {thread_part(thread_id) for thread_id in thread_ids}

    async def _all_kept(self, folder: str | None) -> list[RepositoryCheckpoints]:
        if folder is not None:
            found = await discover(Path(folder))
            if isinstance(found, NoRepository):
                raise Refusal(Reason.WORKTREE_FAILED, found.reason, found.hint)
            return [RepositoryCheckpoints(found, await list_refs(found))]
        return await kept_below(summary.cwd for summary in self._registry.summaries.values())

    async def _measured(self, kept: RepositoryCheckpoints) -> cp.RepositoryStorage:
        try:
            return self._to_wire(kept, await refs_disk_bytes(kept.repository))
        except GitError as error:
            return self._to_wire(kept, None, str(error))

    def _to_wire(
        self, kept: RepositoryCheckpoints, disk_bytes: int | None, problem: str | None = None
    ) -> cp.RepositoryStorage:
        books = self._books
        threads = [_thread(books, part, refs) for part, refs in _by_thread(kept.refs)]
        return cp.RepositoryStorage(
            repository=str(kept.repository.worktree),
            threads=threads,
            disk_bytes=disk_bytes,
            problem=problem,
        )


def _by_thread(refs: Iterable[KeptRef]) -> Iterable[tuple[str, list[KeptRef]]]:
    for part, of_thread in groupby(
        sorted(refs, key=lambda ref: ref.thread), key=lambda ref: ref.thread
    ):
        yield part, list(of_thread)


def _thread(books: dict[str, str], part: str, refs: list[KeptRef]) -> cp.ThreadRefs:
    newest = max(ref.captured_at_s for ref in refs)
    return cp.ThreadRefs(
        thread_id=books.get(part, part),
        known=part in books,
        refs=len(refs),
        newest_at=rfc3339(newest * 1000),
    )
