"""The configuration file: what may stand in it, and what is said when something else does."""

import pytest
from trimpoint.config.loading import ConfigInvalid, parse_config
from trimpoint.config.sections import Config, ContextSection, ModelSection


def refused(text: str) -> str:
    with pytest.raises(ConfigInvalid) as caught:
        parse_config(text, "config.toml")
    return str(caught.value)


def test_an_empty_configuration_gives_the_defaults() -> None:
    config = parse_config("", "config.toml")
    assert config == Config()
    assert config.context == ContextSection("warn", 0.70, 0.90, 3, 0.10)


def test_everything_about_the_context_can_be() -> None:
    text = """
        [context]
        auto = "compact"
        warning_at = 0.5
        critical_at = 0.8
        preserve_recent_turns = 0
        min_freed = 0.2

        [models."gpt-5.1"]
        max_context_tokens = 400_000
        [models.local]
    """
    config = parse_config(text, "config.toml")
    assert config.context == ContextSection("compact", 0.5, 0.8, 0, 0.2)
    assert config.models == {"gpt-5.1": ModelSection(400_000), "local": ModelSection()}


@pytest.mark.parametrize(
    ("text", "line", "key", "hint"),
    [
        ("[contxt]", 1, "contxt", "'context'"),
        (
            'socket = "s"\n\n[context]\nauto = "warn"\nwarning = 0.5',
            5,
            "context.warning",
            "'warning_at'",
        ),
        (
            "[codex]\noverrides = [\n  'context=1',\n]\n[context]\nwaning_at = 1",
            6,
            "context.waning_at",
            "'warning_at'",
        ),
        (
            '[models."gpt-5.1"]\nmax_context_token = 1',
            2,
            "models.gpt-5.1.max_context_token",
            "'max_context_tokens'",
        ),
        (
            '[models]\n"a.b" = { max_tokens = 1 }',
            2,
            "models.a.b.max_tokens",
            "'max_context_tokens'",
        ),
        ("context.zzz = 1", 1, "context.zzz", "There are: auto,"),
        (
            "[log]\nlevel='info'\n[compaction]\nlevel=1",
            4,
            "compaction.level",
            "There are: model, effort.",
        ),
    ],
)
def test_an_unknown_key_is_named_with_its_line_and_the_nearest_there_is(
    text: str, line: int, key: str, hint: str
) -> None:
    said = refused(text)
    assert said.startswith(f"config.toml:{line}: unknown key '{key}'.")
    assert hint in said


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (
            '[context]\nauto = "on"',
            2,
            "context.auto: Invalid enum value 'on'. It takes one of off, warn, mask, compact.",
        ),
        ("[context]\n\ncritical_at = 1.5", 3, "context.critical_at: Expected `float` <= 1.0."),
        ("[context]\nwarning_at = 0", 2, "context.warning_at: Expected `float` > 0.0."),
        (
            "[context]\npreserve_recent_turns = -1",
            2,
            "context.preserve_recent_turns: Expected `int` >= 0.",
        ),
        (
            '[models.m]\nmax_context_tokens = "many"',
            2,
            "models.m.max_context_tokens: Expected `int | null`, got `str`.",
        ),
        ("[models]\nm = 5", 2, "models.m: Expected `object`, got `int`."),
        ("models = 5", 1, "models: Expected `object`, got `int`."),
        (
            "[limits]\nmax_clients = 1\n[compaction]\ndeadline_s = 0",
            4,
            "compaction.deadline_s: Expected `float` > 0.0.",
        ),
        (
            "[discard]\ntarget_tokens = 1",
            1,
            "discard: target_tokens (1) must not be less than floor_tokens (30000).",
        ),
        (
            "\n[log]\nlevel = 'loud'",
            3,
            "log.level: Invalid enum value 'loud'. It takes one of debug, info, warning, error.",
        ),
        (
            "[codex]\noverrides = ['model']",
            1,
            "codex: overrides takes KEY=VALUE, such as 'model=\"gpt-5\"', not 'model'.",
        ),
        (
            "[context]\nwarning_at = 0.95",
            1,
            "context: warning_at (0.95) must not be above critical_at (0.9).",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_line(text: str, line: int, problem: str) -> None:
    assert refused(text) == f"config.toml:{line}: {problem}"


def test_a_file_that_is_not_toml_is_refused() -> None:
    assert refused("[context\n").startswith("config.toml: this is not valid TOML: ")


@pytest.mark.parametrize(
    ("listen", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("[::1]:80", ("::1", 80)),
        ("localhost:0", ("localhost", 0)),
        ("127.8.0.1:1", ("127.8.0.1", 1)),
    ],
)
def test_metrics_are_served_on_this_machine(listen: str, address: tuple[str, int]) -> None:
    assert (
        parse_config(f'[metrics]\nlisten = "{listen}"', "config.toml").metrics.address() == address
    )


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.168.0.7", "build-host"])
def test_metrics_are_served_to_other_machines_only_if_that_is_reported(host: str) -> None:
    said = refused(f'[metrics]\nlisten = "{host}:9464"')
    assert "config.toml:2" in said
    assert "allow_remote = true" in said
    allowed = parse_config(f'[metrics]\nlisten = "{host}:9464"\nallow_remote = true', "config.toml")
    assert allowed.metrics.address() == (host.strip("[]"), 9464)


@pytest.mark.parametrize(
    "listen",
    [
        "",
        "9464",
        ":9464",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:http",
        "127.0.0.1:65536",
        "127.0.0.1:²",
    ],
)
def test_an_invalid_address_is_refused_with_its_line(listen: str) -> None:
    assert "config.toml:2" in refused(f'[metrics]\nlisten = "{listen}"')


def test_metrics_are_served_nowhere_unless_configured() -> None:
    assert Config().metrics.address() is None
