"""Compares msgspec and orjson for JSON that is decoded without a type, changed and encoded: `python
-m benchmarks.studies.untyped_json` (docs/adr/0024-msgspec-for-untyped-json.md).
"""

import timeit
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
import orjson
from trimpoint.gateway.ids.idmap import rewrite_ids

TURNS = (1, 20, 400)
REPEATS = 9
THREAD_ID = "01a222b8-596a-7383-a8d6-e11dbd3b7e53"


def main() -> None:
    """Prints for each size how many times faster orjson is."""
    for turns in TURNS:
        answer = {"thread": {"id": THREAD_ID, "turns": [_turn(number) for number in range(turns)]}}
        text, calls = msgspec.json.encode(answer), max(3, 2000 // turns)
        exchange = _best_s(partial(rewrite_ids, answer, _unknown), calls)
        ours = _codec(msgspec.json.decode, msgspec.json.encode, text, answer, calls)
        theirs = _codec(orjson.loads, orjson.dumps, text, answer, calls)
        ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
        ratios.append((sum(ours) + exchange) / (sum(theirs) + exchange))
        print(f"{len(text):>7} bytes  decode, encode, whole:", *(f"{one:.2f}" for one in ratios))
    large = b"18446744073709551616"
    kept = msgspec.json.encode(msgspec.json.decode(large)), orjson.dumps(orjson.loads(large))
    print(f"{large.decode()} comes out as {kept[0].decode()} and as {kept[1].decode()}")


def _unknown(_: str) -> None:
    return None


def _codec(
    decode: Callable[[bytes], Any],
    encode: Callable[[Any], bytes],
    text: bytes,
    answer: Any,
    calls: int,
) -> tuple[float, float]:
    return _best_s(partial(decode, text), calls), _best_s(partial(encode, answer), calls)


def _turn(number: int) -> dict[str, Any]:
    words = " ".join(f"word{number * place % 997}" for place in range(60))
    message = {"type": "agentMessage", "id": f"msg_{number}", "text": words, "phase": None}
    command = {
        "type": "commandExecution", "id": f"call_{number}", "command": "ls -la", "cwd": "/tmp",
        "aggregatedOutput": "x" * 300, "exitCode": 0, "durationMs": 12,
    }  # fmt: skip
    return {"id": f"{THREAD_ID[:-4]}{number:04x}", "items": [message, command], "error": None}


def _best_s(call: Callable[[], Any], calls: int) -> float:
    return min(timeit.repeat(call, number=calls, repeat=REPEATS)) / calls


if __name__ == "__main__":
    main()
