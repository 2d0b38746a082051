"""`/trust`: whether Codex trusts a folder. The shell has a command of this name for any folder."""

from dataclasses import dataclass
from typing import ClassVar, Literal, cast

from trimpoint.core.commands.arguments import YES_OR_NO, word
from trimpoint.core.commands.declaration import Command
from trimpoint.core.model.folder_trust import FolderTrust
from trimpoint.core.model.spelling import Said


@dataclass(frozen=True, slots=True)
class Trust(Command):
    """Shows whether Codex trusts the thread's folder, or changes it. It stands in Codex's
    configuration, so the gateway answers it (`gateway/commands/views/folder_trusts.py`).
    """

    command: ClassVar = "trust"
    summary: ClassVar = "Show whether Codex trusts this folder, or change it"
    details: ClassVar = (
        "In a folder that Codex does not trust, a thread begins read-only. `yes` writes the folder "
        "into Codex's own configuration, for good and for Codex itself too; `no` takes it out. "
        "Without either nothing changes, and what would be written is shown. A thread that has "
        "begun keeps its sandbox."
    )

    answer: str | None = word("yes|no", YES_OR_NO, "whether Codex is to trust the folder")

    @property
    def wanted(self) -> Literal["yes", "no"] | None:
        """Returns what is to become of it, None if it is only asked."""
        return cast("Literal['yes', 'no'] | None", self.answer)


_YES, _NO = "/trust yes", "/trust no"
UNDONE_BY = {"yes": _NO}
"""The command that takes an answer back. What lasts is not given by one click on an undo."""


def trust_said(found: FolderTrust, answer: Literal["yes", "no"] | None = None) -> Said:
    """Returns what is said of a folder, asked about or just changed."""
    from trimpoint_protocol.hints import CommandHint

    where = found.file or "Codex's configuration"
    if answer == "yes":
        return Said(
            f"Codex trusts {found.folder} from now on, and so does Codex without trimpoint: "
            f"{found.rule} stands in {where}. Threads that begin here can write in the folder; "
            "those that have begun keep their sandbox."
        )
    if answer == "no":
        return Said(
            f"Codex's configuration ({where}) no longer names {found.folder}. Threads that begin "
            "here are read-only; those that have begun keep their sandbox."
        )
    if found.level == "trusted":
        said = (
            f"Codex trusts {found.folder}: threads that begin here can write in it. {found.rule} "
            f"stands in {where}, for Codex itself too."
        )
        return Said(said, (CommandHint(_NO, "takes it out"),))
    if found.level is not None:
        said = f"Codex does not trust {found.folder}: {where} calls it {found.level}."
    else:
        said = f"Codex does not trust {found.folder}: threads that begin here are read-only."
    way = CommandHint(_YES, f"writes {found.rule} into {where}, for good, for Codex itself too")
    return Said(said, (way, *((CommandHint(_NO, "takes it out"),) if found.level else ())))


def newly_trusted(folder: str) -> str:
    """Returns the warning that Codex has begun to trust a folder by itself."""
    return (
        f"Codex trusts {folder} from now on, and has written so into its own configuration: it "
        "does that when a thread begins in a git repository with a sandbox that can write. "
        "/trust no (in a shell: trimpoint trust no) takes it out."
    )
