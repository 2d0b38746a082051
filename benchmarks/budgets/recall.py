"""Search in the history: the speed of indexing, the size of the index, and the speed and quality of
searches, on realistic text.

Indexing and searching run in separate processes, to measure their memory separately.
"""

import json
import random
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from trimpoint.core.model import events as ev
from trimpoint.journal.codec.records import encode_record
from trimpoint.journal.framing import encode_batch, encode_header
from trimpoint.journal.storage.directory import StateDirectory

from benchmarks.measures import Figure, Outcome, Verdict, at_least, at_most
from benchmarks.stage import Bench

THREAD = "01a00000-0000-7000-8000-{:012x}"
TURN = "01a1{:04x}-{:04x}-7000-8000-{:012x}"
ENTRIES_PER_THREAD = 5_000
ENTRIES_PER_TURN = 5
QUERIES = 400
# Among more entries that have all words of a query, nothing tells which one was meant.
TELLING_MATCHES = 20
INDEX = """
import sys, time
from pathlib import Path
from trimpoint.journal.storage.directory import StateDirectory
from trimpoint.recall.index import FILE_NAME, RecallIndex
from trimpoint.recall.reading import index_piece
store = StateDirectory(Path(sys.argv[1]))
index = RecallIndex(store.root)
began, used = time.perf_counter(), time.process_time()
for thread_id, _ in store.journals():
    known = None
    while (end := index_piece(index, thread_id, store.journal_path(thread_id), known)):
        known = end
index.commit()
seconds, used = time.perf_counter() - began, time.process_time() - used
index.begin_tidying()
while index.tidy():
    pass
status = Path("/proc/self/status").read_text()
peak = status.partition("VmHWM:")[2].split()[0]
print(seconds, used, peak, (store.root / FILE_NAME).stat().st_size)
"""
SEARCH = """
import json, sys, time
from pathlib import Path
from trimpoint.recall.index import RecallIndex, Where
from trimpoint.recall.words import terms_in
index = RecallIndex(Path(sys.argv[1]))
took, found = [], []
for query, *entry in json.load(sys.stdin):
    began = time.perf_counter()
    hits = index.search(terms_in(query), Where(), 1_000)
    took.append(time.perf_counter() - began)
    is_first = entry in [[hit.thread_id, hit.turn_id, hit.place] for hit in hits[:5]]
    found.append([len(hits), is_first])
status = Path("/proc/self/status").read_text()
print(json.dumps([took, found, int(status.partition("VmHWM:")[2].split()[0])]))
"""


class Query(NamedTuple):
    """Three words of an entry, and the position of the entry."""

    words: str
    thread_id: str
    turn_id: str
    place: int


class Written(NamedTuple):
    """The amount of text in the entries, the size of the journals, and the queries."""

    text_bytes: int
    journal_bytes: int
    queries: list[Query]


def run(stage: Bench) -> Outcome:
    """Indexes journals of a million entries and searches for some of them."""
    count = stage.sized(1_000_000, 20_000)
    root = stage.room("recall")
    written = _write(root, count)
    seconds, used, peak, size = map(float, _in_process(INDEX, root).split())
    took, found, search_peak = json.loads(_in_process(SEARCH, root, json.dumps(written.queries)))
    milliseconds = sorted(one * 1_000 for one in took)
    telling = [is_first for matches, is_first in found if matches <= TELLING_MATCHES]
    share = 100 * sum(telling) / max(1, len(telling))
    figures = [
        Figure(f"{count:,} entries indexed, by the processor time", "entries/s", [count / used]),
        Figure("the same, by the clock", "entries/s", [count / seconds]),
        Figure("index : text of the entries", "×", [size / written.text_bytes]),
        Figure("a search", "ms", milliseconds),
        Figure("searches that few entries match", "%", [100 * len(telling) / len(found)]),
        Figure("found, of all", "%", [100 * sum(is_first for _, is_first in found) / len(found)]),
        Figure("memory of indexing", "MiB", [peak / 1024]),
        Figure("memory of searching", "MiB", [search_peak / 1024]),
    ]
    p95 = milliseconds[len(milliseconds) * 95 // 100]
    verdicts = [
        Verdict("indexing", count / used, at_least(20_000, "entries/s"), "one core"),
        Verdict("size", 100 * size / written.journal_bytes, at_most(60, "%"), "of the journals"),
        Verdict("search", p95, at_most(50, "ms"), f"p95 of {len(took)}, three words each"),
        Verdict(
            "found",
            share,
            at_least(95, "%"),
            f"among the first five, of those with ≤ {TELLING_MATCHES} matches",
        ),
        Verdict("memory", peak / 1024, at_most(120, "MiB"), "most that was resident, indexing"),
    ]
    return Outcome(verdicts, figures)


def _write(root: Path, count: int) -> Written:
    chance = random.Random(1)
    store = StateDirectory(root)
    wanted = set(chance.sample(range(count), min(QUERIES, count)))
    texts = _texts(chance)
    text_bytes, journal_bytes, queries = 0, 0, list[Query]()
    (root / "threads").mkdir(mode=0o700)
    for first in range(0, count, ENTRIES_PER_THREAD):
        thread_id = THREAD.format(first)
        payloads = [_payload(0, ev.ThreadCreated(thread_id, "/work", "started", b"{}"))]
        for number in range(first, min(count, first + ENTRIES_PER_THREAD), ENTRIES_PER_TURN):
            turn_id = TURN.format(number >> 16, number & 0xFFFF, number)
            events: list[ev.AnyEvent] = [ev.TurnStarted(turn_id, 1)]
            for place in range(ENTRIES_PER_TURN):
                text = next(texts)
                text_bytes += len(text.encode())
                events += [_entry(turn_id, place, text), _item(turn_id, text)]
                if number + place in wanted and (words := _three_words(chance, text)):
                    queries.append(Query(words, thread_id, turn_id, place))
            payloads.append(_payload(number, *events))
        header = encode_header()
        content = header + encode_batch(payloads, len(header))
        store.journal_path(thread_id).write_bytes(content)
        journal_bytes += len(content)
    return Written(text_bytes, journal_bytes, queries)


def _payload(number: int, *events: ev.AnyEvent) -> bytes:
    return encode_record(ev.Record(number + 1, number + 1, 1_764_000_000_000 + number, events))


def _entry(turn_id: str, place: int, text: str) -> ev.EntryRecorded:
    if place == 0 or place == ENTRIES_PER_TURN - 1:
        role = "user" if place == 0 else "assistant"
        return ev.EntryRecorded(turn_id, f"item-{place}", "message", role, text)
    command, _, output = text.partition(" ")
    item = {"type": "commandExecution", "command": command, "aggregatedOutput": output}
    detail = json.dumps(item).encode()
    return ev.EntryRecorded(
        turn_id, f"item-{place}", "activity", "commandExecution", command, detail
    )


def _item(turn_id: str, text: str) -> ev.ContextItemsRecorded:
    """Returns the model's form of an entry, because a journal stores both."""
    content = [{"type": "output_text", "text": text}]
    item = {"type": "message", "role": "assistant", "content": content}
    return ev.ContextItemsRecorded(turn_id, (json.dumps(item).encode(),))


def _texts(chance: random.Random) -> Iterator[str]:
    """Yields texts of prompts, outputs and answers: words with realistic frequencies, every seventh
    one an identifier, a path or a number.
    """
    words = _words(chance)
    identifiers = [_identifier(chance, words) for _ in range(60_000)]
    of_words = list(accumulate(1 / (rank + 5) for rank in range(len(words))))
    of_identifiers = list(accumulate(1 / (rank + 50) for rank in range(len(identifiers))))
    while True:
        length = chance.choice((8, 20, 40, 60, 90, 150))
        text = chance.choices(words, cum_weights=of_words, k=length)
        text += chance.choices(identifiers, cum_weights=of_identifiers, k=length // 7 + 1)
        chance.shuffle(text)
        yield " ".join(text)


def _words(chance: random.Random) -> list[str]:
    syllables = [
        first + then for first in "bcdfghklmnprstvwz" for then in ("a", "e", "i", "o", "er")
    ]
    words = sorted(
        {"".join(chance.choices(syllables, k=chance.randint(1, 3))) for _ in range(20_000)}
    )
    chance.shuffle(words)
    return sorted(words, key=len)[:40] + words


def _identifier(chance: random.Random, words: list[str]) -> str:
    parts = chance.sample(words, k=chance.randint(2, 3))
    titles = [part.title() for part in parts]
    forms = (
        parts[0] + "".join(titles[1:]),
        "_".join(parts),
        f"src/{'/'.join(parts)}.py:{chance.randint(1, 900)}",
        "".join(titles),
    )
    return chance.choice(forms)


def _three_words(chance: random.Random, text: str) -> str:
    words = sorted({word for word in re.findall(r"[^\W_]+", text) if len(word) > 3})
    return " ".join(chance.sample(words, 3)) if len(words) >= 3 else ""


def _in_process(program: str, root: Path, given: str = "") -> str:
    command = [sys.executable, "-c", program, str(root)]
    return subprocess.run(command, input=given, capture_output=True, text=True, check=True).stdout
