"""What a thread works with: its model, and what the agent may do unasked."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from trimpoint_protocol.lenient import as_dict, as_list

SANDBOXES = {
    "readOnly": "read only",
    "workspaceWrite": "write in the folder",
    "dangerFullAccess": "no sandbox",
}
APPROVALS = {
    "untrusted": "asks unless known to be safe",
    "on-request": "asks for more",
    "never": "never asks",
}


class Settings(NamedTuple):
    """The settings of a thread, as Codex reports them."""

    model: str
    effort: str
    sandbox: str
    approval: str

    @property
    def is_open(self) -> bool:
        """Returns whether the agent may change what it wants without asking."""
        return self.sandbox == "dangerFullAccess" and self.approval == "never"

    @property
    def words(self) -> tuple[str, str]:
        """Returns the model with its effort, and the permissions."""
        model = " ".join(part for part in (self.model, self.effort) if part)
        sandbox = SANDBOXES.get(self.sandbox, self.sandbox)
        approval = APPROVALS.get(self.approval, self.approval)
        return model, ", ".join(part for part in (sandbox, approval) if part)


class Preset(NamedTuple):
    """Permissions to choose, as Codex's own terminal UI offers them."""

    name: str
    what: str
    sandbox: str
    approval: str


PRESETS = (
    Preset("Read only", "reads files; asks before it edits or uses the network",
           "readOnly", "on-request"),
    Preset("Default", "edits files in the folder and runs commands; asks for more",
           "workspaceWrite", "on-request"),
    Preset("Careful", "as Default, and asks before commands that are not known to be safe",
           "workspaceWrite", "untrusted"),
    Preset("Full access", "no sandbox, and never asks: use it with care",
           "dangerFullAccess", "never"),
)  # fmt: skip


class Model(NamedTuple):
    """A model that Codex offers, with its efforts and what each is for."""

    name: str
    title: str
    what: str
    effort: str
    efforts: dict[str, str]


def settings_of(said: Mapping[str, Any]) -> Settings:
    """Reads the answer to `thread/start` or `thread/resume`, or what `thread/settings/updated`
    has.
    """
    sandbox = as_dict(said.get("sandboxPolicy") or said.get("sandbox"))
    approval = said.get("approvalPolicy")
    effort = said.get("effort") or said.get("reasoningEffort")
    return Settings(
        str(said.get("model") or ""),
        str(effort or ""),
        str(sandbox.get("type") or ""),
        # A policy of another form is the configuration's own.
        approval if isinstance(approval, str) else "asks as configured",
    )


def models_of(answer: Mapping[str, Any]) -> list[Model]:
    """Reads the answer to `model/list`, without hidden models."""
    return [
        Model(
            str(one.get("model") or one.get("id")),
            str(one.get("displayName") or one.get("model") or one.get("id")),
            str(one.get("description") or ""),
            str(one.get("defaultReasoningEffort") or ""),
            {
                str(effort.get("reasoningEffort")): str(effort.get("description") or "")
                for effort in map(as_dict, as_list(one.get("supportedReasoningEfforts")))
            },
        )
        for one in map(as_dict, as_list(answer.get("data")))
        if not one.get("hidden")
    ]
