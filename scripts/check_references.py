"""Checks that everything that docs and docstrings refer to exists: files, links with their anchors,
and names in backticks.

`scripts/check` runs it. It prints `FILE:LINE: what is missing` and exits with 1 if anything is.
"""

import ast
import builtins
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE_ROOTS = (
    "",
    "daemon/trimpoint/",
    "daemon/",
    "protocol/",
    "protocol/trimpoint_protocol/",
    "docs/",
    "tests/core/",
)

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
BACKTICKED = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
HEADING_RULE = re.compile(r"\|[ :|-]+\|\s*$")
FENCE = re.compile(r"^\s*```")
PATH = re.compile(r"[\w.-]+(/[\w.-]+)+/?|[\w-]+\.(py|md|toml|sh)")
BARE_DOC = re.compile(r"(?<![\w/`(.])docs/[\w./-]+\.md(#[\w-]+)?")
MEMBER = re.compile(r"[a-z_]+(/[a-z_]+)+\.(?!sock\b)\w+")
DOTTED_MODULE = re.compile(r"trimpoint(_protocol)?(\.\w+)+")
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*(\(\))?")
SECTION_OF_A_SPEC = re.compile(r"\bspec(ification)? ?§")
DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


# Names in prose that belong to other programs.
EXTERNAL = frozenset(
    {
        "AppServerClient", "CODEX_PATH", "HTTP_PROXY", "SyncCodexSDKClient", "c7", "camelCase",
        "chatgpt.cliExecutable", "codexed",
        "compact_prompt", "model_list", "transfer.hideRefs", "nohup", "preexec_fn", "sendmsg",
        "sockaddr_un", "tempfile.gettempdir", "thread_rollback", "vim.schedule",
    }
)  # fmt: skip


class Text(NamedTuple):
    """The prose of a file: a docstring, a comment, or a page. `line` is its first line."""

    path: Path
    line: int
    text: str


def main() -> int:
    """Checks every tracked file; returns the exit code."""
    problems = [problem for path in tracked() for text in texts(path) for problem in check(text)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


@cache
def tracked() -> list[Path]:
    """Returns the files of the repository, including those that are not committed yet."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    return [ROOT / name for name in listed if (ROOT / name).is_file()]


def texts(path: Path) -> Iterator[Text]:
    """Yields the prose of a file."""
    if path.suffix == ".md" and path.name != "CHANGELOG.md":
        yield Text(path, 1, path.read_text(encoding="utf-8"))
    elif path.suffix == ".py":
        yield from docstrings(path)
        yield from comments(path)


def docstrings(path: Path) -> Iterator[Text]:
    """Yields the docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        for statement in node.body if isinstance(node, (ast.Module, *DEFINITIONS)) else ():
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                yield Text(path, statement.lineno, value.value)


def comments(path: Path) -> Iterator[Text]:
    """Yields the comments, one by one."""
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.COMMENT:
                yield Text(path, token.start[0], token.string)


def check(text: Text) -> Iterator[str]:
    """Yields the references of `text` that do not exist, and tables that a blank line tears."""
    if text.path.suffix == ".md":
        yield from torn_tables(text)
    fenced = False
    for offset, line in enumerate(text.text.splitlines()):
        if FENCE.match(line) and text.path.suffix == ".md":
            fenced = not fenced
        where = f"{text.path.relative_to(ROOT)}:{text.line + offset}"
        if not fenced:
            yield from (f"{where}: {missing}" for missing in missing_in(line, text.path))


def torn_tables(text: Text) -> Iterator[str]:
    """Yields the rows behind a blank line of a table: they are shown with their pipes."""
    lines = ["", "", *text.text.splitlines(), ""]
    for at in range(2, len(lines) - 1):
        begins = lines[at].startswith("|") and not lines[at - 1].strip()
        if begins and lines[at - 2].startswith("|") and not HEADING_RULE.match(lines[at + 1]):
            where = f"{text.path.relative_to(ROOT)}:{text.line + at - 2}"
            yield f"{where}: a blank line tears the table"


def missing_in(line: str, path: Path) -> Iterator[str]:
    """Yields the references of one line that do not exist."""
    if SECTION_OF_A_SPEC.search(line):
        yield "a section number is no reference; link to a page of docs/spec"
    for target in LINK.findall(line) if path.suffix == ".md" else ():
        if not target.startswith(("http:", "https:", "mailto:")) and not link_exists(target, path):
            yield f"the link {target} leads nowhere"
    for found in BARE_DOC.finditer(line):
        if not link_exists(found[0], ROOT / "here"):
            yield f"there is no {found[0]}"
    for name in BACKTICKED.findall(line):
        if not name_exists(name.strip()):
            yield f"there is no `{name}`"


def link_exists(target: str, path: Path) -> bool:
    """Returns whether the file of a relative link exists, and has the link's anchor."""
    name, _, anchor = target.partition("#")
    file = (path.parent / name).resolve() if name else path
    return file.exists() and (not anchor or anchor in anchors(file))


@cache
def anchors(page: Path) -> frozenset[str]:
    """Returns the anchors of a page's headings, as hosting sites generate them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return frozenset(
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings
    )


def name_exists(name: str) -> bool:
    """Returns whether a name in backticks exists. Text that is no name (a command, code, JSON)
    passes.
    """
    if DOTTED_MODULE.fullmatch(name):
        return module_exists(name)
    if PATH.fullmatch(name) and name.endswith((".py", ".md", ".toml")):
        return path_exists(name)
    if MEMBER.fullmatch(name):
        module, _, member = name.rpartition(".")
        return path_exists(name) or (path_exists(f"{module}.py") and member in words())
    if NAME.fullmatch(name) and name not in EXTERNAL:
        return all(part in words() for part in name.removesuffix("()").split("."))
    return True


def path_exists(name: str) -> bool:
    """Returns whether a path exists below one of the folders that prose starts from, or as a bare
    file name.
    """
    if any((ROOT / root / name).exists() for root in SOURCE_ROOTS) or name in built():
        return True
    return name in words() or ("/" not in name and any(path.name == name for path in tracked()))


@cache
def built() -> frozenset[str]:
    """Returns the paths of generated files, which are not committed: those in `.gitignore`."""
    return frozenset((ROOT / ".gitignore").read_text().split())


def module_exists(name: str) -> bool:
    """Returns whether a dotted name is a module, or a name in a module."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        for root in ("daemon", "protocol"):
            file = ROOT.joinpath(root, *parts[:length])
            if file.with_suffix(".py").exists() or file.is_dir():
                return all(part in words() for part in parts[length:])
    return False


@cache
def words() -> frozenset[str]:
    """Returns every word of the code: identifiers, and words in strings (wire names, keys, file
    names).
    """
    found: set[str] = set()
    for path in tracked():
        if path.suffix == ".py":
            found |= words_of_code(path)
        elif path.suffix in (
            ".toml",
            ".service",
            ".socket",
            ".sh",
            ".json",
            ".js",
            ".lua",
        ) or path.parent.name in (
            "scripts",
            ".ci",
        ):
            found |= set(re.findall(r"[A-Za-z_][\w-]*", path.read_text(encoding="utf-8")))
    return frozenset(found | set(dir(builtins)))


def words_of_code(path: Path) -> set[str]:
    """Returns the identifiers and the words in strings of a module, without its docstrings."""
    prose = {(text.line) for text in docstrings(path)}
    found: set[str] = {path.stem, path.parent.name}
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type == tokenize.NAME:
                found.add(token.string)
            elif token.type == tokenize.STRING and token.start[0] not in prose:
                camel = re.findall(r"[A-Za-z_][\w.-]*", token.string)
                found.update(camel)
                found.update(part for word in camel for part in re.split(r"[./]", word))
    snake = {re.sub(r"_([a-z])", lambda m: m[1].upper(), word) for word in found if "_" in word}
    return found | snake


if __name__ == "__main__":
    sys.exit(main())
