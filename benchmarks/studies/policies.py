"""Replays seeded synthetic sessions under policies of trimming, and says what each costs:
`python -m benchmarks.studies.policies`.

The sessions have the shape of public ones: 406 had 33,353 model calls, 111 of them 100 calls and
more, and tool output was 71 % of what was said. The replay is that of `trimpoint sessions what-if`,
and so is what it assumes. Each policy is held against doing nothing twice: where the context grows
without end, as in a large window, and where the agent compacts by itself.
"""

import random
import sys
from collections.abc import Iterator
from typing import NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table
from trimpoint.core.decide.masking import WORTH_A_MASK
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.tokens import ITEM_TOKENS
from trimpoint.sessionlogs.replay.policies import Sums, policies_of, replayed
from trimpoint.sessionlogs.replay.report import LONG_CALLS
from trimpoint.sessionlogs.replay.story import Call, Story

SEEDS = (1, 2, 3)
SESSIONS = 406
ENDLESS = 10**9
WINDOW = 200_000
OVERHEAD = 12_000
PLACEHOLDER = 14

BETWEEN_TURNS, WITHIN_TURNS, COMPACTIONS = 0.88, 0.75, 0.5
"""The bars: the price of masks between turns and within turns, of that of doing nothing, and the
compactions with masks, of those without.
"""


class Variant(NamedTuple):
    """A policy with its name."""

    name: str
    policy: Policy


class Row(NamedTuple):
    """What a policy takes where nothing else compacts, and where the agent does, each with what
    doing nothing takes.
    """

    variant: Variant
    endless: Sums
    compacting: Sums
    endless_none: Sums
    compacting_none: Sums


def made_sessions(seed: int, count: int = SESSIONS) -> list[Story]:
    """Returns synthetic sessions."""
    chance = random.Random(seed)
    return [_session(chance) for _ in range(count)]


def _session(chance: random.Random) -> Story:
    story = Story(WINDOW, round(0.947 * WINDOW), overhead=OVERHEAD)
    calls = min(800, max(1, round(chance.lognormvariate(3.5, 1.15))))
    turn_calls = chance.lognormvariate(2.7, 0.8)  # in a turn of this session, on average
    growth = chance.lognormvariate(-0.2, 0.6)  # how long its outputs and answers are
    now_ms, outputs = 0, list[int]()
    while len(story.calls) < calls:
        now_ms += round(_pause_s(chance) * 1000)
        story.turns.append(len(story.tokens))
        story.tokens.append(round(chance.lognormvariate(4.6, 1.1)))
        for _ in range(max(1, round(chance.expovariate(1 / turn_calls)))):
            now_ms += round(chance.lognormvariate(2.4, 0.7) * 1000)
            sent = len(story.tokens)
            story.tokens.append(round(growth * chance.lognormvariate(4.6, 0.8)))
            named = _named(chance, outputs)
            story.calls.append(Call(sent, sent + 1, now_ms, len(story.turns) - 1, named))
            tokens = round(min(12_000, growth * chance.lognormvariate(4.9, 1.4)))
            frees = tokens - ITEM_TOKENS - PLACEHOLDER
            if frees >= WORTH_A_MASK and chance.random() > 0.1:  # a tenth changes files
                story.freed[len(story.tokens)] = frees
            outputs.append(len(story.tokens))
            story.tokens.append(tokens)
    return story


def _pause_s(chance: random.Random) -> float:
    """Returns how long a person takes for the next prompt: a while, a meal, or a night."""
    return chance.choices(
        (
            chance.lognormvariate(4.2, 1.0),
            chance.uniform(600, 5_400),
            chance.uniform(20_000, 60_000),
        ),
        (72, 20, 8),
    )[0]


def _named(chance: random.Random, outputs: list[int]) -> frozenset[int]:
    """Returns the outputs that a call refers to: mostly one of the last."""
    back = round(chance.expovariate(1 / 6))
    is_named = chance.random() < 0.4 and back < len(outputs)
    return frozenset({outputs[-1 - back]} if is_named else ())


def variants(policy: Policy) -> list[Variant]:
    """Returns the policies of the table, and others with one setting changed."""
    changed = msgspec.structs.replace
    every = policies_of(policy)
    mask = every["mask"]
    keep = DiscardPolicy(keep_turns=2)
    return [
        *(Variant(name, one) for name, one in every.items() if name != "none"),
        Variant("mask within turns too", changed(mask, mid_turn=True)),
        *(Variant(f"mask_at = {at:g}", changed(mask, mask_at=at)) for at in (0.25, 0.5)),
        Variant("keep_turns = 2", changed(mask, discard=keep)),
        Variant("min_freed = 0.05", changed(mask, min_freed=0.05)),
        *(Variant(f"pays_off_within = {n}", changed(mask, pays_off_within=n)) for n in (10, 40)),
    ]


def study(stories: list[Story], wanted: list[Variant]) -> list[Row]:
    """Returns what the long sessions take under each policy."""
    long = [story for story in stories if len(story.calls) >= LONG_CALLS]
    endless = [msgspec.structs.replace(story, compacts_at=ENDLESS) for story in long]
    none = Variant("none", policies_of(Policy())["none"])
    nothing = _total(endless, none), _total(long, none)
    return [Row(one, _total(endless, one), _total(long, one), *nothing) for one in (none, *wanted)]


def _total(stories: list[Story], variant: Variant) -> Sums:
    sums = Sums()
    for story in stories:
        sums.add(replayed(story, variant.policy))
    return sums


def shape(stories: list[Story]) -> tuple[int, int, float]:
    """Returns the calls, the long sessions, and the share of tool output in what was said."""
    said = sum(sum(story.tokens) for story in stories)
    outputs = sum(story.tokens[call.said] for story in stories for call in story.calls)
    calls = [len(story.calls) for story in stories]
    return sum(calls), sum(count >= LONG_CALLS for count in calls), outputs / said


def missed(rows: list[Row]) -> list[str]:
    """Returns the bars that are missed."""
    found = {row.variant.name: row for row in rows}
    both, alone = found["mask then compact"].endless, found["compact"].endless
    shares = {
        "masks between turns": (_share(found["mask"]), BETWEEN_TURNS),
        "masks within turns": (_share(found["mask within turns too"]), WITHIN_TURNS),
        "compactions": (both.compactions / alone.compactions, COMPACTIONS),
    }
    return [
        f"{name}: {share:.0%} > {bar:.0%}" for name, (share, bar) in shares.items() if share > bar
    ]


def _share(row: Row) -> float:
    return row.endless.price / row.endless_none.price


def main() -> int:
    """Prints the table; returns 1 if a bar is missed."""
    stories = [story for seed in SEEDS for story in made_sessions(seed)]
    calls, long, outputs = shape(stories)
    rows = study(stories, variants(Policy()))
    console = Console()
    console.print(
        f"{len(stories):,} sessions, {calls:,} calls; {long} of {LONG_CALLS} calls and more; "
        f"{outputs:.0%} of what is said is tool output"
    )
    table = Table("policy", "price", "sent", "compacted", "asked for", "price", "sent", "compacted")
    for row in rows:
        table.add_row(row.variant.name, *_cells(row))
    console.print(table)
    console.print("First where nothing else compacts, then where the agent does, at 95 %.")
    for line in missed(rows):
        console.print(f"missed: {line}")
    return int(bool(missed(rows)))


def _cells(row: Row) -> Iterator[str]:
    for one, none in ((row.endless, row.endless_none), (row.compacting, row.compacting_none)):
        yield f"{one.price / none.price:.1%}"
        yield f"{one.sent / none.sent:.1%}"
        yield f"{one.compactions}"
        if one is row.endless:
            yield f"{one.asked_for}"


if __name__ == "__main__":
    sys.exit(main())
