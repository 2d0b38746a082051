"""The table of all checks, in the order they are shown. To add one, write a function that yields findings and give it a row."""

from trimpoint.doctor import checkpoints, codex, configuration, places, processes, surroundings
from trimpoint.doctor.findings import Check

CHECKS = (
    Check("configuration", configuration.look),
    Check("codex", codex.look),
    Check("codex login", codex.look_at_login),
    Check("codex sandbox", codex.look_at_sandbox),
    Check("runtime folder", places.look_at_runtime_folder),
    Check("state directory", places.look_at_state_directory),
    Check("journals", surroundings.look_at_journals),
    Check("daemon", places.look_at_daemon),
    Check("socket", places.look_at_socket),
    Check("leftovers", processes.look_at_leftovers),
    Check("other daemons", processes.look_at_other_daemons),
    Check("git", surroundings.look_at_git),
    Check("checkpoints", checkpoints.look),
    Check("open files", surroundings.look_at_descriptors),
    Check("service", surroundings.look_at_service),
)
