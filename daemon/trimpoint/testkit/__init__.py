"""Test kit: a scripted model for the real Codex, used by the demo, the tests and authors of
clients.
"""

from trimpoint.testkit.codex_home import (
    codex_environment,
    codex_overrides,
    config_flags,
    log_in,
    openai_overrides,
    remote_overrides,
    throwaway_codex_home,
)
from trimpoint.testkit.model_request import ModelRequest
from trimpoint.testkit.replies import (
    Reply,
    Usage,
    call,
    cut_off,
    encrypted_compaction,
    failure,
    hang,
    held,
    http_error,
    overflow,
    reasoning,
    run,
    say,
)
from trimpoint.testkit.script import Script
from trimpoint.testkit.scripted_model import Respond, ScriptedModel

__all__ = [
    "ModelRequest",
    "Reply",
    "Respond",
    "Script",
    "ScriptedModel",
    "Usage",
    "call",
    "codex_environment",
    "codex_overrides",
    "config_flags",
    "cut_off",
    "encrypted_compaction",
    "failure",
    "hang",
    "held",
    "http_error",
    "log_in",
    "openai_overrides",
    "overflow",
    "reasoning",
    "remote_overrides",
    "run",
    "say",
    "throwaway_codex_home",
]
