"""Fits the weights of `trimpoint.core.model.text_weight` to a real tokenizer, and reports the
errors of the estimate: `scripts/fit-tokens`.

The corpus consists of installed files (Python, C headers, JavaScript, translations) and of seeded
random text, so the figures differ slightly between machines. The weights are fitted to every other
piece of 4,000 characters and judged on the rest, by the squares of relative errors.
"""

import argparse
import base64
import difflib
import importlib
import itertools
import json
import random
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table
from trimpoint.core.model.text_weight import (
    FEATURES,
    OTHER_WEIGHT,
    SCRIPTS,
    Script,
    kinds_in,
    pattern_codes,
)
from trimpoint.core.model.tokens import estimate_text_tokens

PIECE_CHARACTERS = 4_000
PIECES = 40
SEED = 1
LANGUAGES = {
    "Chinese": "zh_Hans",
    "Japanese": "ja",
    "Korean": "ko",
    "Russian": "ru",
    "German": "de",
    "Arabic": "ar",
}
FLAT_CHARACTERS_PER_TOKEN = 4
_TRANSLATION = re.compile(r'^msgstr(?:\[\d\])? ((?:"(?:[^"\\]|\\.)*"\n)+)', re.MULTILINE)

Row = list[float]


class Piece(NamedTuple):
    """A text of one kind, and its number of tokens."""

    kind: str
    text: str
    tokens: int


class Errors(NamedTuple):
    """The relative errors of the estimates; `flat` is the error of four characters per token."""

    characters_per_token: float
    together: float
    average: float
    worst: float
    flat: float


def main() -> int:
    """Prints the best weights, and the errors of the weights in the code."""
    parser = argparse.ArgumentParser(prog="scripts/fit-tokens", description=main.__doc__)
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the weights there")
    arguments = parser.parse_args()
    fitted, judged = halves(pieces(corpus()))
    weights = best_weights(fitted)
    console = Console()
    console.print(_weights_table(weights), _errors_table(judged))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(dict(zip(names(), weights, strict=True)), indent=1))
    return 0


def names() -> list[str]:
    """Returns the names of the fitted weights, in order."""
    return [feature.name for feature in FEATURES] + [script.name for script in SCRIPTS]


def best_weights(fitted: Sequence[Piece]) -> Row:
    """Returns the weights that minimize the squares of the relative errors."""
    rows: list[Row] = []
    targets: Row = []
    for piece in fitted:
        counts, fixed = counted(piece.text)
        rows.append([count / piece.tokens for count in counts])
        targets.append(1 - fixed / piece.tokens)
    return least_squares(rows, targets)


def counted(text: str) -> tuple[Row, float]:
    """Returns how often each weight applies to the text, and the tokens of the text that are not
    fitted.
    """
    # A text begins as after a line break.
    kinds = pattern_codes(b"n") + kinds_in(text)[1:]
    counts = [
        float(sum(kinds.count(pattern_codes(pattern)) for pattern in feature.patterns))
        for feature in FEATURES
    ]
    found = [sum(_is_in(script, character) for character in text) for script in SCRIPTS]
    left = sum(not character.isascii() for character in text) - sum(found)
    return [*counts, *map(float, found)], left * OTHER_WEIGHT


def _is_in(script: Script, character: str) -> bool:
    return any(first <= ord(character) <= last for first, last in script.ranges)


def least_squares(rows: Sequence[Row], targets: Sequence[float]) -> Row:
    """Solves the normal equations by elimination with pivots."""
    size = len(rows[0])
    matrix = [
        [sum(row[i] * row[j] for row in rows) for j in range(size)]
        + [sum(row[i] * target for row, target in zip(rows, targets, strict=True))]
        for i in range(size)
    ]
    for i in range(size):
        pivot = max(range(i, size), key=lambda at: abs(matrix[at][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for at in range(size):
            if at != i:
                factor = matrix[at][i] / matrix[i][i]
                pairs = zip(matrix[at], matrix[i], strict=True)
                matrix[at] = [one - factor * other for one, other in pairs]
    return [matrix[i][size] / matrix[i][i] for i in range(size)]


def pieces(texts: Iterable[tuple[str, str]]) -> list[Piece]:
    """Returns pieces of every text with their number of tokens, at most the same number for each
    kind.
    """
    tokenizer = _installed("bpe_openai").get_encoding("o200k_base")
    cut = (
        (kind, text[at : at + PIECE_CHARACTERS])
        for kind, text in texts
        for at in range(0, min(len(text), PIECES * PIECE_CHARACTERS), PIECE_CHARACTERS)
    )
    return [
        Piece(kind, text, len(tokenizer.encode_ordinary(text)))
        for kind, text in cut
        if len(text) == PIECE_CHARACTERS
    ]


def halves(every: Sequence[Piece]) -> tuple[Sequence[Piece], Sequence[Piece]]:
    """Returns the pieces to fit and the pieces to judge."""
    return every[::2], every[1::2]


def errors_of(judged: Sequence[Piece]) -> Errors:
    """Returns the relative errors of the code's estimate on these pieces."""
    estimates = [estimate_text_tokens(piece.text) for piece in judged]
    off = [estimate / one.tokens - 1 for estimate, one in zip(estimates, judged, strict=True)]
    flat = [len(one.text) / FLAT_CHARACTERS_PER_TOKEN / one.tokens - 1 for one in judged]
    tokens = sum(one.tokens for one in judged)
    return Errors(
        sum(len(one.text) for one in judged) / tokens,
        sum(estimates) / tokens - 1,
        sum(map(abs, off)) / len(off),
        max(map(abs, off)),
        sum(map(abs, flat)) / len(flat),
    )


def corpus() -> Iterator[tuple[str, str]]:
    """Yields each kind of text with a text that is long enough."""
    library = Path(sysconfig.get_paths()["stdlib"])
    packages = Path(_installed("django").__file__).parent
    python = _joined(sorted(library.glob("*.py"))[:60])
    documents = json.loads(_read(Path("docs/openapi.json")))
    yield "English prose", _translations(packages, "en", "msgid") + _docstrings(python)
    yield "Markdown", _joined(sorted(Path("docs").glob("**/*.md")))
    yield "Python", python
    yield "C headers", _joined(sorted(Path(sysconfig.get_paths()["include"]).glob("**/*.h")))
    yield "JavaScript", _joined(sorted(packages.glob("contrib/**/*.js")))
    yield "JSON", json.dumps(documents, indent=2)
    yield "JSON without blanks", json.dumps(documents, separators=(",", ":"))
    yield "diffs", "".join(_diffs(sorted(library.glob("*.py"))))
    yield "`ls -l`, `grep`", _listing(library)
    yield from _random_text()
    for language, folder in LANGUAGES.items():
        yield language, _translations(packages, folder, "msgstr")


def _random_text() -> Iterator[tuple[str, str]]:
    chance = random.Random(SEED)
    size = PIECES * PIECE_CHARACTERS
    yield "logs", "\n".join(_log_line(chance) for _ in range(size // 60))
    yield "base64", base64.b64encode(chance.randbytes(size)).decode()
    yield "hexadecimal", chance.randbytes(size // 2).hex()
    yield "decimal fractions", "\n".join(str(chance.random()) for _ in range(size // 18))


def _log_line(chance: random.Random) -> str:
    day, hour = chance.randrange(1, 29), chance.randrange(24)
    when = f"2026-03-{day:02}T{hour:02}:14:09.{chance.randrange(1000):03}Z"
    where = chance.choice(("server", "worker-3", "db.pool", "http.access"))
    level = chance.choice(("INFO", "DEBUG", "WARNING"))
    request, took = f"{chance.getrandbits(48):012x}", chance.randrange(9999)
    return f"{when} {level} {where} request_id={request} took {took} ms"


def _diffs(files: Sequence[Path]) -> Iterator[str]:
    chance = random.Random(SEED)
    for file in files[60:120]:
        old = _read(file).splitlines(keepends=True)
        new = [line for line in old if chance.random() > 0.03]
        yield from difflib.unified_diff(old, new, f"a/{file.name}", f"b/{file.name}")


def _listing(folder: Path) -> str:
    listed = subprocess.run(
        ["ls", "-lR", str(folder)], capture_output=True, text=True, check=True
    ).stdout
    found = subprocess.run(
        ["grep", "-rn", "import", "--include=*.py", "."],
        capture_output=True, text=True, check=True, cwd=folder,
    ).stdout  # fmt: skip
    half = PIECES * PIECE_CHARACTERS // 2
    return listed[:half] + found[:half]


def _translations(packages: Path, folder: str, member: str) -> str:
    pattern = re.compile(_TRANSLATION.pattern.replace("msgstr", member), re.MULTILINE)
    files = sorted(packages.glob(f"**/locale/{folder}/LC_MESSAGES/django.po"))
    found = itertools.chain.from_iterable(pattern.findall(_read(file)) for file in files)
    sentences = ("".join(re.findall(r'"((?:[^"\\]|\\.)*)"', one)) for one in found)
    return "\n".join(sentence for sentence in sentences if len(sentence) > 15)


def _docstrings(python: str) -> str:
    return "\n\n".join(re.findall(r'"""([A-Z][^"]{200,}?)"""', python))


def _installed(name: str) -> Any:
    """Imports a package of the dependency group `tokens`, which the development environment does
    not have.
    """
    return importlib.import_module(name)


def _joined(files: Iterable[Path]) -> str:
    return "\n".join(map(_read, files))


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace")


def _weights_table(weights: Row) -> Table:
    table = Table("weight", "in the code", "fits best", title="tokens each")
    in_code = [feature.weight for feature in FEATURES] + [script.weight for script in SCRIPTS]
    for name, now, best in zip(names(), in_code, weights, strict=True):
        table.add_row(name, f"{now:.3f}", f"{best:.3f}")
    return table


def _errors_table(judged: Sequence[Piece]) -> Table:
    table = Table(
        "text", "characters a token", "all together", "a piece, on average", "the worst", "a flat 4"
    )
    for kind, group in itertools.groupby(judged, key=lambda piece: piece.kind):
        found = errors_of(list(group))
        shares = (found.together, found.average, found.worst, found.flat)
        table.add_row(
            kind,
            f"{found.characters_per_token:.2f}",
            f"{shares[0]:+.0%}",
            *(f"{share:.0%}" for share in shares[1:]),
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
