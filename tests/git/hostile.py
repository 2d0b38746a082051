"""Files of a repository that have git run a program: one row for each way that git knows.

`{run}` stands for a command that leaves a witness. `armed_by` is what springs the trap in the
person's own git, which proves that the row is a trap; empty where that needs a network or another
repository. `since` is the first version of git that knows the way. With `begins_below`, the thread
begins in the folder `sub`.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.git.worktrees import git, new_repository, write

_MISSING = "1" * 40
_CHECKPOINT = "refs/trimpoint/checkpoints/t/n"
_HOOKS = (
    "post-index-change", "reference-transaction", "pre-auto-gc", "pre-commit", "post-commit",
    "post-checkout", "fsmonitor-watchman", "query-watchman", "update", "post-update",
)  # fmt: skip
_COMMANDS = (
    "status", "ls-files", "update-index", "write-tree", "commit-tree", "cat-file", "diff-tree",
    "for-each-ref", "update-ref", "repack", "prune", "rev-list", "rev-parse", "config",
    "check-attr", "read-tree", "ls-tree", "version", "pack-objects",
)  # fmt: skip


class Row(NamedTuple):
    """A way to have git run a program. `plant` is called with the work tree and a shell command."""

    name: str
    plant: Callable[[Path, str], object]
    armed_by: tuple[str, ...] = ()
    since: tuple[int, int] = (0, 0)
    begins_below: bool = False


def settings(folder: Path, *pairs: tuple[str, str], file: str = ".git/config") -> None:
    """Adds settings to a configuration file of the repository."""
    for name, value in pairs:
        git(folder, "config", "--file", file, "--add", name, value)


def script(path: Path, run: str) -> str:
    """Makes a program of the command, and returns its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{run}\n")
    path.chmod(0o755)
    return str(path)


def _set(*pairs: tuple[str, str]) -> Callable[[Path, str], None]:
    def plant(folder: Path, run: str) -> None:
        settings(folder, *((name.format(run=run), value.format(run=run)) for name, value in pairs))

    return plant


def promisor(*pairs: tuple[str, str]) -> Callable[[Path, str], None]:
    """Returns a planter of a remote from which git would fetch the missing object of a ref."""

    def plant(folder: Path, run: str) -> None:
        basics = (("core.repositoryFormatVersion", "1"), ("extensions.partialClone", "evil"))
        settings(folder, *basics, ("remote.evil.promisor", "true"))
        _set(*pairs)(folder, run)
        write(folder, {f".git/{_CHECKPOINT}": _MISSING + "\n"})

    return plant


def _filter(key: str) -> Callable[[Path, str], None]:
    def plant(folder: Path, run: str) -> None:
        attributes = "[attr]all filter=evil\n* filter=evil all\n"
        write(folder, {".gitattributes": attributes, ".git/info/attributes": attributes})
        settings(folder, (f"filter.evil.{key}", f"{run}; cat"), ("filter.evil.required", "true"))

    return plant


def _diff(key: str) -> Callable[[Path, str], None]:
    def plant(folder: Path, run: str) -> None:
        write(folder, {".gitattributes": "* diff=evil\n", ".git/info/attributes": "* diff=evil\n"})
        settings(folder, (f"diff.evil.{key}", f"{run}; cat"))

    return plant


def _hook_files(into: str) -> Callable[[Path, str], None]:
    def plant(folder: Path, run: str) -> None:
        for name in _HOOKS:
            script(folder / into / name, run)
        if into != ".git/hooks":
            settings(folder, ("core.hooksPath", into))

    return plant


def _hook_settings(folder: Path, run: str) -> None:
    # The last one undoes a `hook.<event>.enabled=false`, because it makes a name of the event.
    for name in ("evil", "e=v.il"):
        settings(folder, (f"hook.{name}.command", run))
        settings(folder, *((f"hook.{name}.event", hook) for hook in _HOOKS))
    settings(folder, ("hook.reference-transaction.parallel", "true"))


def _submodule(folder: Path, run: str) -> None:
    nested = new_repository(folder / "module", {"x": "1"})
    settings(nested, ("core.fsmonitor", script(nested / ".git" / "fs", run)))
    commit = git(nested, "rev-parse", "HEAD").decode().strip()
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{commit},module")
    settings(
        folder, ("submodule.sub.path", "module"), ("submodule.sub.url", "./x"), file=".gitmodules"
    )
    settings(
        folder,
        ("submodule.sub.update", f"!{run}"),
        ("submodule.sub.url", "./x"),
        ("submodule.sub.active", "true"),
        ("submodule.recurse", "true"),
        ("diff.submodule", "log"),
        ("status.submoduleSummary", "true"),
    )
    git(nested, "commit", "-q", "--allow-empty", "-m", "second")
    write(nested, {"x": "2"})


def _nested(folder: Path, run: str) -> None:
    nested = new_repository(folder / "nested", {"x": "1"})
    monitor = script(nested / ".git" / "fs", run)
    settings(nested, ("core.fsmonitor", monitor), ("filter.evil.clean", f"{run}; cat"))
    write(nested, {".gitattributes": "* filter=evil\n", "x": "2"})


def _included(folder: Path, run: str) -> None:
    monitor = script(folder / "included" / "fs", run)
    settings(folder, ("core.fsmonitor", monitor), file="included/config")
    settings(folder, ("include.path", "../included/config"))
    settings(folder, ("includeIf.gitdir:/**.path", "../included/config"))


def _of_the_worktree(folder: Path, run: str) -> None:
    monitor = script(folder / "included" / "fs", run)
    settings(folder, ("core.repositoryFormatVersion", "1"), ("extensions.worktreeConfig", "true"))
    settings(folder, ("core.fsmonitor", monitor), file=".git/config.worktree")


def _alternate_refs(folder: Path, run: str) -> None:
    other = new_repository(folder.parent / "other", {"x": "1"})
    settings(other, ("core.fsmonitor", script(other / ".git" / "fs", run)))
    write(folder, {".git/objects/info/alternates": f"{other}/.git/objects\n"})
    settings(folder, ("core.alternateRefsCommand", run))


def _git_folder(at: Path, run: str) -> None:
    """Makes a git directory of four plain files, whose settings run programs."""
    write(
        at,
        {
            "HEAD": "ref: refs/heads/main\n",
            "info/attributes": "* filter=evil\n",
            _CHECKPOINT: _MISSING + "\n",
        },
    )
    (at / "objects").mkdir(exist_ok=True)
    settings(
        at,
        ("core.repositoryFormatVersion", "1"),
        ("core.bare", "false"),
        ("core.fsmonitor", script(at / "fs", run)),
        ("filter.evil.clean", f"{run}; cat"),
        ("gc.recentObjectsHook", run),
        ("extensions.partialClone", "evil"),
        ("remote.evil.promisor", "true"),
        ("remote.evil.url", "."),
        ("remote.evil.uploadpack", f"{run}; false"),
        ("hook.evil.command", run),
        *(("hook.evil.event", hook) for hook in _HOOKS),
        file="config",
    )


def _ours(name: str, *, common: bool) -> Callable[[Path, str], None]:
    def plant(folder: Path, run: str) -> None:
        ours = folder / ".git" / name
        if common:
            _git_folder(folder / "elsewhere", run)
            write(ours, {"commondir": "../../elsewhere\n"})
        else:
            _git_folder(ours, run)

    return plant


def _fake_in_the_folder(folder: Path, run: str) -> None:
    _git_folder(folder, run)
    settings(folder, ("core.worktree", str(folder)), file="config")


def _fake_in_a_subfolder(folder: Path, run: str) -> None:
    at = folder / "sub"
    _git_folder(at, run)
    settings(at, ("core.worktree", str(at)), file="config")


def _fake_instead(folder: Path, run: str) -> None:
    shutil.rmtree(folder / ".git")
    _fake_in_the_folder(folder, run)


def _named_by_a_file(folder: Path, run: str) -> None:
    shutil.copytree(folder / ".git", folder / "mine")
    shutil.rmtree(folder / ".git")
    write(folder, {".git": "gitdir: mine\n"})
    _git_folder(folder / "mine", run)


TABLE = (
    Row(
        "promisor remote: upload pack",
        promisor(("remote.evil.url", "."), ("remote.evil.uploadpack", "{run}; false")),
        ("for-each-ref", "--format=%(refname) %(objectname) %(committerdate:unix)"),
    ),
    Row(
        "promisor remote: core.sshCommand",
        promisor(("remote.evil.url", "ssh://nowhere/x"), ("core.sshCommand", "{run}; false")),
        ("cat-file", "-p", _MISSING),
    ),
    Row(
        "promisor remote: core.gitProxy",
        promisor(("remote.evil.url", "git://nowhere/x"), ("core.gitProxy", "sh -c '{run}'")),
    ),
    Row(
        "promisor remote: ext",
        promisor(
            ("remote.evil.url", "ext::sh -c {run}"),
            ("protocol.allow", "always"),
            ("protocol.ext.allow", "always"),
        ),
    ),
    Row(
        "promisor remote: url.insteadOf",
        promisor(
            ("remote.evil.url", "https://nowhere/x"),
            ("url.ext::sh -c {run} .insteadOf", "https://"),
            ("protocol.ext.allow", "always"),
        ),
    ),
    Row(
        "promisor remote: credential.helper and core.askPass",
        promisor(
            ("remote.evil.url", "http://127.0.0.1:9/x"),
            ("credential.helper", "!{run}"),
            ("core.askPass", "sh -c '{run}'"),
            ("http.proxy", "http://127.0.0.1:9"),
        ),
    ),
    Row(
        "promisor remote: uploadpack.packObjectsHook",
        promisor(("remote.evil.url", "."), ("uploadpack.packObjectsHook", "{run}; false")),
    ),
    Row("filter.clean", _filter("clean"), ("add", "--renormalize", ".")),
    Row("filter.smudge", _filter("smudge"), ("checkout", "HEAD", "--", "a")),
    Row("filter.process", _filter("process"), ("add", "--renormalize", ".")),
    Row("diff.command", _diff("command"), ("diff", "HEAD")),
    Row("diff.textconv", _diff("textconv"), ("diff", "HEAD")),
    Row("diff.external", _set(("diff.external", "{run}; true")), ("diff", "HEAD")),
    Row("core.fsmonitor", _set(("core.fsmonitor", "{run}; false")), ("status",)),
    Row("hooks: files", _hook_files(".git/hooks"), ("commit", "-q", "--allow-empty", "-m", "x")),
    Row("hooks: core.hooksPath", _hook_files("mine"), ("commit", "-q", "--allow-empty", "-m", "x")),
    Row(
        "hooks: settings",
        _hook_settings,
        ("commit", "-q", "--allow-empty", "-m", "x"),
        since=(2, 54),
    ),
    Row(
        "core.pager",
        _set(
            ("core.pager", "{run}; cat"), *((f"pager.{each}", "{run}; cat") for each in _COMMANDS)
        ),
    ),
    Row(
        "core.editor",
        _set(("core.editor", "{run}; true"), ("sequence.editor", "{run}; true")),
        ("commit", "--allow-empty"),
    ),
    Row(
        "gpg.program",
        _set(
            ("gpg.program", "{run}; false"),
            ("commit.gpgSign", "true"),
            ("tag.gpgSign", "true"),
            ("log.showSignature", "true"),
        ),
    ),
    Row("alias", _set(*((f"alias.{each}", "!{run}") for each in (*_COMMANDS, "x"))), ("x",)),
    Row("submodules", _submodule, ("submodule", "update")),
    Row("a nested repository", _nested),
    Row("include.path", _included, ("status",)),
    Row("config.worktree", _of_the_worktree, ("status",)),
    Row("core.alternateRefsCommand", _alternate_refs),
    Row(
        "gc.recentObjectsHook",
        _set(
            ("gc.recentObjectsHook", "{run}"),
        ),
        ("prune", "--expire=now"),
        since=(2, 42),
    ),
    Row("our folder: its settings", _ours("trimpoint", common=False)),
    Row("our folder: another common directory", _ours("trimpoint", common=True)),
    Row("the store: its settings", _ours("trimpoint-checkpoints.git", common=False)),
    Row("the store: another common directory", _ours("trimpoint-checkpoints.git", common=True)),
    Row("a fake repository beside .git", _fake_in_the_folder),
    Row("a fake repository in a subfolder", _fake_in_a_subfolder, begins_below=True),
    Row("a fake repository and no .git", _fake_instead),
    Row("a .git that names a folder in the work tree", _named_by_a_file, ("status",)),
)
