"""Translates modes, models and efforts of a session between Codex's settings and ACP's options.

A session starts with the user's Codex configuration. The settings of a mode are only applied when a
person selects the mode, and the reviewer of approvals is never changed.
"""

from typing import Any, NamedTuple

from trimpoint_protocol.lenient import Json, as_dict, as_dicts, as_text

from trimpoint.acp.wire.answers import Choice, ConfigOption, Mode, Modes

CONFIGURED = "configured"
MODE, MODEL, EFFORT = "mode", "model", "reasoning_effort"


class Preset(NamedTuple):
    """A mode and its settings."""

    id: str
    name: str
    description: str
    sandbox: str
    approval: str


PRESETS = (
    Preset(
        "read-only",
        "Read only",
        "Reads files; asks before anything else.",
        "readOnly",
        "on-request",
    ),
    Preset(
        "ask",
        "Ask",
        "Works in the folder; asks before each command that is not known to be safe.",
        "workspaceWrite",
        "untrusted",
    ),
    Preset(
        "workspace",
        "Workspace",
        "Edits files and runs commands in the folder; asks to go beyond it.",
        "workspaceWrite",
        "on-request",
    ),
    Preset(
        "full-access",
        "Full access",
        "Does everything, and never asks.",
        "dangerFullAccess",
        "never",
    ),
)


class BadChoice(Exception):
    """Raised for an unknown mode, option or value; the text names the valid ones."""


class Model(NamedTuple):
    """A model of `model/list`."""

    id: str
    name: str
    description: str
    efforts: tuple[str, ...]
    default_effort: str


class Settings(NamedTuple):
    """The settings of a session that are in force."""

    sandbox: Json
    approval: Any
    model: str
    effort: str | None
    cwd: str


def settings_of_answer(answer: Json) -> Settings:
    """Reads the settings from the answer to `thread/start` or `thread/resume`."""
    return Settings(
        sandbox=as_dict(answer.get("sandbox")),
        approval=answer.get("approvalPolicy"),
        model=as_text(answer.get("model")),
        effort=as_text(answer.get("reasoningEffort")) or None,
        cwd=as_text(answer.get("cwd")),
    )


def settings_of_update(settings: Json) -> Settings:
    """Reads the settings from `thread/settings/updated`."""
    return Settings(
        sandbox=as_dict(settings.get("sandboxPolicy")),
        approval=settings.get("approvalPolicy"),
        model=as_text(settings.get("model")),
        effort=as_text(settings.get("effort")) or None,
        cwd=as_text(settings.get("cwd")),
    )


def models_in(answers: list[Json]) -> list[Model]:
    """Returns the models of the pages of `model/list`, without hidden ones."""
    return [
        Model(
            id=as_text(row.get("model")) or as_text(row.get("id")),
            name=as_text(row.get("displayName")) or as_text(row.get("model")),
            description=as_text(row.get("description")),
            efforts=tuple(
                as_text(one.get("reasoningEffort"))
                for one in as_dicts(row.get("supportedReasoningEfforts"))
            ),
            default_effort=as_text(row.get("defaultReasoningEffort")),
        )
        for answer in answers
        for row in as_dicts(answer.get("data"))
        if not row.get("hidden")
    ]


def mode_of(settings: Settings) -> str:
    """Returns the id of the mode that has these settings; that of the user's configuration if no
    preset matches.
    """
    kind = settings.sandbox.get("type")
    found = [one.id for one in PRESETS if (one.sandbox, one.approval) == (kind, settings.approval)]
    return found[0] if found else CONFIGURED


def modes(now: Settings, first: Settings) -> Modes:
    """Returns the modes. The configured settings are one of them unless they equal a preset."""
    offered = [Mode(id=one.id, name=one.name, description=one.description) for one in PRESETS]
    if CONFIGURED in (mode_of(now), mode_of(first)):
        offered.insert(
            0, Mode(id=CONFIGURED, name="Configured", description="As Codex is configured.")
        )
    return Modes(current_mode_id=mode_of(now), available_modes=offered)


def mode_update(mode_id: str, first: Settings) -> Json:
    """Returns the parameters of `thread/settings/update` for a mode.

    :raises BadChoice: when there is no such mode.
    """
    if mode_id == CONFIGURED and mode_of(first) == CONFIGURED:
        return {"approvalPolicy": first.approval, "sandboxPolicy": first.sandbox}
    for one in PRESETS:
        if one.id == mode_id:
            return {"approvalPolicy": one.approval, "sandboxPolicy": _sandbox(one.sandbox, first)}
    raise BadChoice(
        f"There is no mode {mode_id!r}; there are {', '.join(one.id for one in PRESETS)}."
    )


def _sandbox(kind: str, first: Settings) -> Json:
    """Returns the sandbox of kind `kind`: the configured one if it is of this kind."""
    return first.sandbox if first.sandbox.get("type") == kind else {"type": kind}


def options(now: Settings, first: Settings, models: list[Model]) -> list[ConfigOption]:
    """Returns all options of a session with their values."""
    offered = modes(now, first)
    return [
        ConfigOption(
            id=MODE,
            name="Mode",
            category="mode",
            current_value=offered.current_mode_id,
            options=[
                Choice(value=one.id, name=one.name, description=one.description)
                for one in offered.available_modes
            ],
        ),
        *_model_options(now, models),
    ]


def _model_options(now: Settings, models: list[Model]) -> list[ConfigOption]:
    if not now.model:
        return []
    choices = [
        Choice(value=one.id, name=one.name, description=one.description or None) for one in models
    ]
    if now.model not in {one.id for one in models}:
        choices.insert(0, Choice(value=now.model, name=now.model))
    chosen = ConfigOption(
        id=MODEL, name="Model", category="model", current_value=now.model, options=choices
    )
    return [chosen, *_effort_option(now, models)]


def _effort_option(now: Settings, models: list[Model]) -> list[ConfigOption]:
    known = next((one for one in models if one.id == now.model), None)
    efforts = list(known.efforts) if known is not None else []
    current = now.effort or (known.default_effort if known is not None else "")
    if not current:
        return []
    if current not in efforts:
        efforts.insert(0, current)
    choices = [Choice(value=one, name=one.capitalize()) for one in efforts]
    return [
        ConfigOption(
            id=EFFORT,
            name="Reasoning effort",
            category="thought_level",
            current_value=current,
            options=choices,
        )
    ]


def option_update(
    config_id: str, value: Any, now: Settings, first: Settings, models: list[Model]
) -> Json:
    """Returns the parameters of `thread/settings/update` for a value of an option.

    :raises BadChoice: when there is no such option, or it has no such value.
    """
    offered = {one.id: one for one in options(now, first, models)}
    option = offered.get(config_id)
    if option is None:
        raise BadChoice(f"There is no option {config_id!r}; there are {', '.join(offered)}.")
    values = [choice.value for choice in option.options]
    if value not in values:
        raise BadChoice(
            f"The option {config_id} has no value {value!r}; there are {', '.join(values)}."
        )
    match config_id:
        case "mode":
            return mode_update(value, first)
        case "model":
            return {"model": value, **_effort_for(value, now, models)}
        case _:
            return {"effort": value}


def _effort_for(model_id: str, now: Settings, models: list[Model]) -> Json:
    """Returns the effort to set along with a model that does not support the current one; empty if
    it does.
    """
    model = next((one for one in models if one.id == model_id), None)
    if model is None or now.effort is None or not model.efforts or now.effort in model.efforts:
        return {}
    return {"effort": model.default_effort or model.efforts[0]}
