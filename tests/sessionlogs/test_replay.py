"""Sessions replayed under each policy, held against a second, plain replay of the same sessions."""

import math
from pathlib import Path
from typing import Any

import msgspec
import pytest
from trimpoint.core.model.decision import DiscardPolicy, Policy
from trimpoint.core.model.tokens import estimate_text_tokens
from trimpoint.sessionlogs.replay.logs import story_of
from trimpoint.sessionlogs.replay.policies import Sums, policies_of, replayed
from trimpoint.sessionlogs.replay.story import Story
from trimpoint.sessionlogs.sessions import survey

from tests.sessionlogs.made_sessions import FIRST_INPUT, WINDOW, Step, sessions_of, written
from tests.sessionlogs.sessions import only_session

LIMIT = 18_947
"""Where Codex compacts a window of this size."""
POLICY = Policy(mask_at=0.5, min_freed=0.05, discard=DiscardPolicy(floor_tokens=0))


def plain_replay(turns: list[tuple[str, list[Step]]], masks: bool, compacts: bool) -> Sums:
    """The rules of docs/configuration.md, once more and in the plainest way."""
    sums = Sums()
    first_prompt = 4 + estimate_text_tokens(turns[0][0] + " ")
    base = overhead = FIRST_INPUT - first_prompt
    context: list[dict[str, Any]] = []
    prefix, last_s, sealed, attempts = 0, None, False, list[list[int]]()

    def size() -> int:
        return base + sum(int(one["tokens"]) for one in context)

    def count(sent: int, cached: int) -> None:
        sums.sent, sums.cached = sums.sent + sent, sums.cached + cached
        sums.price += sent - cached + cached * POLICY.cache.cached_price

    def summarize(kept: list[dict[str, Any]], prompts: int) -> None:
        nonlocal base, prefix, last_s, context
        count(size(), 0)
        sums.compactions += 1
        context, base, prefix, last_s = kept, overhead + 2_000 + prompts, 0, None

    def act(turn: int, now_s: int) -> bool:
        nonlocal prefix, last_s, sealed
        used = size()
        if last_s is None:
            return False
        old = [one for one in context if one["turn"] < turn - 3 and one.get("frees", 0) >= 50]
        freed = sum(one["frees"] for one in old)
        cold = used < 1_024 or now_s >= last_s + 600
        calls = math.ceil((used - freed) * 0.9 / (0.1 * freed)) if freed else 10_000
        worth = cold or used >= 0.9 * WINDOW or (used >= 0.7 * WINDOW and calls <= 20)
        if masks and not sealed and used >= 0.5 * WINDOW and freed >= 0.05 * WINDOW and worth:
            for one in old:
                one["tokens"] -= one.pop("frees")
                one["masked"] = True
            sums.masks, prefix, last_s = sums.masks + 1, 0, None
            return True
        in_vain = len(attempts) >= 2 and all(
            was - low < 0.05 * WINDOW for was, low, _ in attempts[-2:]
        )
        no_turn = len(attempts) >= 3 and all(end >= 0.9 * WINDOW for _, _, end in attempts[-3:])
        if compacts and used >= 0.9 * WINDOW and not in_vain and not no_turn:
            whole = [one["turn"] for one in context if one.get("prompt")]
            count_kept = min(3, len(whole) - (0 if sealed else 1))
            kept = whole[len(whole) - count_kept :]
            attempts.append([used, 10**9, 10**9])
            summarize([one for one in context if one["turn"] in kept], 0)
            sealed = False
            return True
        return False

    outputs: dict[str, dict[str, Any]] = {}
    for number, (prompt, steps) in enumerate(turns):
        if number and (masks or compacts):
            if attempts:
                attempts[-1][2] = min(attempts[-1][2], size())
            _ = act(number, last_s or 0) or act(number, steps[0].at_s)
        tokens = 4 + estimate_text_tokens(f"{prompt} ")
        context.append({"turn": number, "tokens": tokens, "prompt": True})
        asked = gone = False
        for step in steps:
            if size() >= LIMIT:
                kept = min(20_000, sum(one["tokens"] for one in context if one.get("prompt")))
                summarize([], kept)
                sealed = True
            used = size()
            warm = last_s is not None and step.at_s < last_s + 600
            count(used, prefix if warm and prefix >= 1_024 else 0)
            sums.calls += 1
            sums.fullest = max(sums.fullest, used / WINDOW)
            prefix, last_s = used, step.at_s
            said = f"{step.command} " if step.output is None else f" shell {step.command}"
            context.append({"turn": number, "tokens": 4 + estimate_text_tokens(said)})
            if attempts:
                attempts[-1][1] = min(attempts[-1][1], size())
            if step.output is not None:
                found = outputs.get(step.command)
                asked |= found is not None and found in context and found.get("masked", False)
                gone |= found is not None and found not in context
                weight = 4 + estimate_text_tokens(step.output)
                line = f"[output of {weight:,} tokens left the context]"
                frees = weight - 4 - estimate_text_tokens(line)
                one = {"turn": number, "tokens": weight, "frees": frees, "id": step.at_s}
                outputs[step.command] = one
                context.append(one)
        sums.asked_for += asked
        sums.gone += gone
    return sums


def story_in(home: Path) -> Story:
    session = only_session(home)
    return story_of(session, survey(session), {})


@pytest.mark.parametrize("seed", range(12))
def test_each_policy_takes_what_a_plain_replay_takes(tmp_path: Path, seed: int) -> None:
    turns = sessions_of(seed)
    written(tmp_path, turns)
    story = story_in(tmp_path)
    for name, policy in policies_of(POLICY).items():
        ours = replayed(story, policy)
        plain = plain_replay(turns, masks="mask" in name, compacts="compact" in name)
        assert msgspec.structs.astuple(ours) == pytest.approx(msgspec.structs.astuple(plain)), name
