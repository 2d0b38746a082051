"""The table of all checks, in the order of display. To add a check, write a function that yields
findings, and add a row.
"""

from trimpoint.doctor import checkpoints, codex, configuration, environment, fleet, paths, processes
from trimpoint.doctor.findings import Check

CHECKS = (
    Check("configuration", configuration.check),
    Check("user", environment.check_user),
    Check("codex", codex.check),
    Check("codex login", codex.check_login),
    Check("codex sandbox", codex.check_sandbox),
    Check("codex network", codex.check_network),
    Check("codex environment", codex.check_environment),
    Check("runtime folder", paths.check_runtime_folder),
    Check("state directory", paths.check_state_directory),
    Check("journals", environment.check_journals),
    Check("daemon", paths.check_daemon),
    Check("socket", paths.check_socket),
    Check("leftovers", processes.check_orphans),
    Check("other daemons", processes.check_other_daemons),
    Check("git", environment.check_git),
    Check("checkpoints", checkpoints.check),
    Check("open files", environment.check_descriptors),
    Check("fleet", fleet.check),
    Check("service", environment.check_service),
)
