"""Overviews of threads say what the threads' states say, also where the disk is behind."""

from trimpoint.config.sections import ThreadsSection
from trimpoint.core.model import events as ev
from trimpoint.core.model.decision import Policy
from trimpoint.gateway.methods.extension.thread_overviews import ThreadOverviews
from trimpoint.threads.registry import ThreadRegistry

from tests.threads.stage import THREAD, Disk, Store, begin, turn


async def test_a_thread_that_asks_before_its_first_prompt_is_on_the_disk_is_named_by_it() -> None:
    disk = Disk()
    async with ThreadRegistry.running(Store(disk), Policy(), ThreadsSection()) as registry:
        writer = await begin(registry)
        disk.fill()
        started, prompt, _ = turn("T1")
        asked = ev.RequestOpened("q", "item/commandExecution/requestApproval")
        writer.record_facts(started, prompt, asked)
        overview = await ThreadOverviews(registry).of(registry.summaries[THREAD])
        assert (overview.asks, overview.preview) == (asked.method, "hello")
        disk.free()


async def test_a_list_shows_the_newest_message_in_one_line() -> None:
    async with ThreadRegistry.running(Store(Disk()), Policy(), ThreadsSection()) as registry:
        writer = await begin(registry)
        overviews = ThreadOverviews(registry)

        async def last_words() -> str:
            return (await overviews.of(registry.summaries[THREAD])).last_words

        started, prompt, ended = turn("T1")
        writer.record_facts(started, prompt)
        await writer.flush()
        assert await last_words() == "hello"
        said = ev.EntryRecorded(
            "T1", "answer", "message", "assistant", "It is\n\n  done. " + "x" * 999
        )
        call = ev.EntryRecorded("T1", "call", "activity", "commandExecution", "ls")
        writer.record_facts(said, call, ended)
        await writer.flush()
        assert (await last_words()).startswith("It is done. xxx")
        assert len(await last_words()) <= 200
        writer.record_facts(ev.TurnsRolledBack("T1"))
        await writer.flush()
        assert await last_words() == ""
