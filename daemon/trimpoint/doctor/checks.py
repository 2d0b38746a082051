"""The table of all checks, in the order they are shown. To add one, write a function that yields findings and give it a row."""

from trimpoint.doctor import checkpoints, codex, configuration, environment, paths, processes
from trimpoint.doctor.findings import Check

CHECKS = (
    Check("configuration", configuration.look),
    Check("codex", codex.look),
    Check("codex login", codex.look_at_login),
    Check("codex sandbox", codex.look_at_sandbox),
    Check("runtime folder", paths.look_at_runtime_folder),
    Check("state directory", paths.look_at_state_directory),
    Check("journals", environment.look_at_journals),
    Check("daemon", paths.look_at_daemon),
    Check("socket", paths.look_at_socket),
    Check("leftovers", processes.look_at_leftovers),
    Check("other daemons", processes.look_at_other_daemons),
    Check("git", environment.look_at_git),
    Check("checkpoints", checkpoints.look),
    Check("open files", environment.look_at_descriptors),
    Check("service", environment.look_at_service),
)
