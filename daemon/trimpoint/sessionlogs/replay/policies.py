"""Sends the calls of a session again under a policy, and counts what that takes. Pure.

What is decided, is decided by the functions that decide about threads (`core/decide`). What they
are given here is estimated: see `ASSUMPTIONS`.
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from trimpoint.core.context.context_size import level_of
from trimpoint.core.context.cost import CACHED_FROM_TOKENS, expires_at_ms
from trimpoint.core.decide.auto_compaction import did_not_help
from trimpoint.core.decide.auto_masking import Fill, Masking, Wait, wait_and_cost, within_turns
from trimpoint.core.decide.autopilot import NextAct
from trimpoint.core.decide.masking import NEWEST_OUTPUTS, newest_from, worthwhile
from trimpoint.core.evolve.compaction_attempts import REMEMBERED
from trimpoint.core.model.decision import Policy
from trimpoint.core.model.state import CompactionAttempt
from trimpoint.core.model.usage import ModelCall
from trimpoint.sessionlogs.replay.story import Call, Cut, Story

SUMMARY_TOKENS = 2_000
KEPT_PROMPTS_TOKENS = 20_000
"""What Codex keeps of the person's prompts when it compacts by itself."""
NEVER = 2.0
"""A share of the window that no context has."""
ASSUMPTIONS = (
    "Sizes are estimates of the text in the logs; sealed reasoning is not counted.",
    "Cached is what the call before was sent and has not changed since, for as long as the "
    "provider keeps it; after a trim nothing is.",
    f"A summary takes {SUMMARY_TOKENS:,} tokens, and making it reads the whole context uncached.",
    "An agent compacts by itself where its log shows that it did, else at 95 % of its window.",
    "What the model did is taken as it was: it never asks again for what was masked. The turns in "
    "which it named something that only a masked output had are counted as asked for; it may have "
    "needed nothing of it.",
)
"""What a replay takes for granted, for people."""


class Sums(msgspec.Struct):
    """What a policy takes. Of the tokens that are sent, `cached` come from the provider's cache;
    `price` is in uncached tokens. `fullest` is the largest share of a window. `asked_for` are the
    turns in which the agent refers to an output of which it has only a placeholder, `gone` those in
    which it refers to one that a compaction took.
    """

    calls: int = 0
    sent: int = 0
    cached: int = 0
    price: float = 0.0
    masks: int = 0
    compactions: int = 0
    fullest: float = 0.0
    asked_for: int = 0
    gone: int = 0

    @property
    def uncached(self) -> int:
        """Returns the tokens that did not come from the cache."""
        return self.sent - self.cached

    def add(self, other: "Sums") -> None:
        """Adds what another session takes."""
        for name in self.__struct_fields__:
            both = getattr(self, name), getattr(other, name)
            setattr(self, name, max(both) if name == "fullest" else sum(both))


def policies_of(policy: Policy) -> dict[str, Policy]:
    """Returns the policies that are compared: nothing, each kind of trim, and both."""
    replaced = msgspec.structs.replace
    return {
        "none": replaced(policy, auto="off"),
        "mask": replaced(policy, auto="mask"),
        "compact": replaced(policy, auto="compact", mask_at=NEVER),
        "mask then compact": replaced(policy, auto="compact"),
    }


def replayed(story: Story, policy: Policy) -> Sums:
    """Returns what the session takes under the policy."""
    return _Replay(story, policy).run()


class _Output(NamedTuple):
    item: int
    freed_tokens: int


class _Replay:
    """The context of a replay: the items from `start` to `at`, of which `live` has the sizes, after
    a beginning of `base` tokens.
    """

    def __init__(self, story: Story, policy: Policy) -> None:
        self.story, self.policy = story, policy
        self.cache = policy.cache
        self.live = list(story.tokens)
        self.outputs = list(story.freed.items())
        self.first_output = 0  # of the outputs, the first that may be in the context unmasked
        self.masked: set[int] = set()
        self.start = self.at = 0
        self.base = self.size = story.overhead
        self.prefix = 0  # what the last call was sent and has not changed
        self.last: ModelCall | None = None
        self.sent_at_ms = 0
        self.is_sealed = False  # what the agent itself has compacted cannot be masked
        self.attempts: list[CompactionAttempt] = []
        self.sums = Sums()

    def run(self) -> Sums:
        story, cuts = self.story, iter(self.story.cuts)
        cut = next(cuts, None)
        turn = asked = gone = -1
        for number, call in enumerate(story.calls):
            while cut is not None and cut.call <= number:
                self._cut(cut)
                cut = next(cuts, None)
            if call.turn != turn and turn >= 0:
                self._between_turns(call)
            elif self.policy.mid_turn:
                self._mask_within(call)
            turn = call.turn
            self._take_in(call.sent)
            if self.size >= story.compacts_at > self.base:
                self._compact_as_agent()
            self._send(call)
            self._take_in(call.said)
            self._note_size()
            wanted = [item for item in call.refers if self.live[item]]
            if asked != turn and any(one >= self.start and one in self.masked for one in wanted):
                asked = turn
                self.sums.asked_for += 1
            if gone != turn and any(one < self.start for one in wanted):
                gone = turn
                self.sums.gone += 1
        return self.sums

    # --- calls

    def _take_in(self, end: int) -> None:
        self.size += sum(self.live[self.at : end])
        self.at = max(self.at, end)

    def _send(self, call: Call) -> None:
        expires = expires_at_ms(self.last, self.cache)
        is_warm = expires is not None and call.at_ms < expires
        cached = self.prefix if is_warm and self.prefix >= CACHED_FROM_TOKENS else 0
        self._count(self.size, cached)
        self.sums.calls += 1
        self.sums.fullest = max(self.sums.fullest, self.size / self.story.window)
        self.last = ModelCall(self.size, cached, call.at_ms)
        self.prefix, self.sent_at_ms = self.size, call.at_ms

    def _count(self, sent: int, cached: int) -> None:
        self.sums.sent += sent
        self.sums.cached += cached
        uncached = sent - cached
        self.sums.price += uncached * self.cache.write_price + cached * self.cache.cached_price

    def _note_size(self) -> None:
        if self.attempts:
            last = self.attempts[-1]
            last.lowest = self.size if last.lowest is None else min(last.lowest, self.size)

    # --- trims

    def _between_turns(self, call: Call) -> None:
        """Does what is due at the end of a turn, or else before the next prompt."""
        if self.policy.auto == "off":
            return
        if self.attempts:
            last = self.attempts[-1]
            known = last.lowest_at_turn_end
            last.lowest_at_turn_end = self.size if known is None else min(known, self.size)
        for now_ms in (self.sent_at_ms, call.at_ms):
            act, outputs = self._next_act(call.turn, now_ms)
            if act.masks:
                self._mask(outputs)
            elif act.compacts:
                self._compact(call.turn)
            # What was trimmed is not measured, so nothing more is due.

    def _next_act(self, turns: int, now_ms: int) -> tuple[NextAct, list[_Output]]:
        newest = newest_from(turns, self.policy.discard)
        end = self.story.turns[newest] if newest < len(self.story.turns) else self.at
        wait, outputs = self._masking(self.policy, end, now_ms)
        return NextAct(Masking(wait), self._compacts(turns)), outputs

    def _masking(self, policy: Policy, end: int, now_ms: int) -> tuple[Wait | None, list[_Output]]:
        """Returns why the outputs before `end` are not masked, and which ones would be."""
        fill = Fill(self.size, self.story.window, self.last, self.cache)
        if self.last is None:
            return Wait.NOT_MEASURED, []
        if fill.is_small(policy):
            return Wait.SMALL, []
        if self.is_sealed:
            return Wait.NOT_KNOWN, []
        said = self.size - self.story.overhead
        outputs = list(worthwhile(self._unmasked(end), said, 0, policy.discard))
        freed = sum(one.freed_tokens for one in outputs)
        return wait_and_cost(fill, freed, policy, now_ms)[0], outputs

    def _unmasked(self, end: int) -> Iterator[_Output]:
        while self.first_output < len(self.outputs) and (
            self.outputs[self.first_output][0] < self.start
            or self.outputs[self.first_output][0] in self.masked
        ):
            self.first_output += 1
        for at in range(self.first_output, len(self.outputs)):
            item, freed = self.outputs[at]
            if item >= min(end, self.at):
                return
            if item not in self.masked and self.live[item]:
                yield _Output(item, freed)

    def _mask_within(self, call: Call) -> None:
        """Masks old output before a call within a turn, where that is due. The call was sent by
        then, and is sent again.
        """
        known = bisect_left(self.outputs, (call.sent, 0))
        if known > NEWEST_OUTPUTS:
            end = self.outputs[known - NEWEST_OUTPUTS][0]
            wait, outputs = self._masking(within_turns(self.policy), end, call.at_ms)
            if wait is None:
                self._take_in(call.sent)
                self._count(self.size, self.prefix)
                self._mask(outputs)

    def _mask(self, outputs: list[_Output]) -> None:
        for one in outputs:
            self.masked.add(one.item)
            self.live[one.item] -= one.freed_tokens
            self.size -= one.freed_tokens
        self.sums.masks += 1
        self._begin_anew()

    def _compacts(self, turns: int) -> bool:
        """Returns whether the context is compacted between turns."""
        return (
            self.policy.auto == "compact"
            and self.last is not None
            and level_of(self.size, self.story.window, self.policy) == "critical"
            and not did_not_help(self.attempts, self.story.window, self.policy)
            and self._turns_inside(turns) + self.is_sealed > 0
        )

    def _turns_inside(self, turns: int) -> int:
        return sum(first >= self.start for first in self.story.turns[:turns])

    def _compact(self, turns: int) -> None:
        """Compacts as trimpoint does: the newest turns stay."""
        # At least one turn is summarized; after a compaction of the agent's own that is the older.
        inside = self._turns_inside(turns) - (not self.is_sealed)
        kept = max(0, min(self.policy.preserve_recent_turns, inside))
        first = self.story.turns[turns - kept] if kept else self.at
        self.attempts = [*self.attempts, CompactionAttempt(self.size)][-REMEMBERED:]
        self._summarize(first, 0)
        self.is_sealed = False

    def _compact_as_agent(self) -> None:
        turns = [first for first in self.story.turns if self.start <= first < self.at]
        prompts = sum(self.live[first] for first in turns)
        self._summarize(self.at, min(KEPT_PROMPTS_TOKENS, prompts))
        self.is_sealed = True

    def _summarize(self, first: int, prompts_tokens: int) -> None:
        self._count(self.size, 0)
        self.sums.compactions += 1
        self.start = first
        self.base = self.story.overhead + SUMMARY_TOKENS + prompts_tokens
        self.size = self.base + sum(self.live[first : self.at])
        self._begin_anew()

    def _begin_anew(self) -> None:
        self.prefix, self.last = 0, None

    def _cut(self, cut: Cut) -> None:
        if cut.kind == "compact":
            self._take_in(cut.item)
            if cut.item > self.start:
                self._summarize(max(self.start, cut.item), 0)
            return
        gone = range(max(self.start, cut.item), self.at)
        self.size -= sum(self.live[item] for item in gone)
        self.prefix = min(self.prefix, self.size)
        for item in gone:
            self.live[item] = 0
