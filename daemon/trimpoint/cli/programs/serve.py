"""`trimpoint serve`: runs the daemon, which serves any number of clients at its socket."""

import argparse
import os
import signal
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

import structlog
from trimpoint_protocol.locations import HomeUnknown, codex_home

from trimpoint import __version__, event_loop
from trimpoint.cli.connection.serving.foreground import (
    StopSignals,
    daemon_on_socket,
    run_daemon,
    serving_codex,
    stop_asked,
)
from trimpoint.cli.connection.settings import Settings, codex_binary, settings_of
from trimpoint.cli.connection.sockets import daemon_at
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.json_output import print_json
from trimpoint.codex.appserver.launch import LaunchProfile
from trimpoint.codex.appserver.versions import (
    NEWEST_TESTED,
    OLDEST_SUPPORTED,
    binary_version,
    version_text,
)
from trimpoint.config.sections import BACKGROUND_IDLE_EXIT_S
from trimpoint.service.activation import handed_over
from trimpoint.service.notify import own_notifier, reported

log = structlog.get_logger()


def run(arguments: argparse.Namespace) -> int:
    """Serves until a signal or `trimpoint daemon shutdown` ends the daemon, then returns 0.

    :raises CliError: when it could not start.
    """
    if arguments.background and not arguments.detached:
        return _leave_running(arguments)
    if arguments.background:
        detach()
    settings = settings_of(arguments)
    profile = _profile(arguments, settings)
    about_codex = _look_at_codex(profile)
    said = None if arguments.json else about_codex
    return run_daemon(settings, partial(_serve, settings, profile, said, arguments.background))


def _profile(arguments: argparse.Namespace, settings: Settings) -> LaunchProfile:
    named = settings.config.codex.home
    home = Path(named).expanduser().absolute() if named else None
    return LaunchProfile(codex_binary(arguments), settings.config.codex.overrides, home)


def _leave_running(arguments: argparse.Namespace) -> int:
    """Starts a daemon as a command that needs one does, and returns once it can be used."""
    # The daemon itself needs none of it.
    from trimpoint.cli.connection.background import launch_of, socket_of_daemon

    settings = settings_of(arguments)
    if (running := event_loop.run(daemon_at, settings)) is not None:
        said = f"A daemon runs already, at {running}."
        raise CliError(said, "Stop it first: trimpoint daemon shutdown.", reason="daemon_runs")
    about_codex = _look_at_codex(_profile(arguments, settings))
    launch = launch_of(settings, arguments)
    own = [word for one in arguments.overrides for word in ("-c", one)]
    own += ["--codex", os.path.abspath(codex_binary(arguments))]
    own += ["--as-codex-daemon"] if arguments.as_codex_daemon else []
    socket = event_loop.run(socket_of_daemon, launch._replace(options=[*launch.options, *own]))
    if arguments.json:
        print_json({"listening": str(socket), "stateDir": str(settings.state_dir)})
        return Exit.DONE
    print(f"trimpoint {__version__} listens on {socket}, in the background")
    print(*about_codex, sep="\n")
    print("trimpoint daemon logs shows its log; trimpoint daemon shutdown ends it")
    return Exit.DONE


def _look_at_codex(profile: LaunchProfile) -> list[str]:
    """Returns warnings about the installed Codex for a person to read before the first prompt.

    :raises CliError: when it is older than the oldest supported version.
    """
    codex = profile.codex
    version = binary_version(codex)
    if version is not None and version < OLDEST_SUPPORTED:
        oldest = version_text(OLDEST_SUPPORTED)
        raise CliError(
            f"The Codex at {codex} is {version_text(version)}, which is too old.",
            f"Install Codex {oldest} or newer, or name another one with --codex.",
            reason="codex_too_old",
        )
    lines = [
        f"Codex {version_text(version) if version else 'of a version that it does not say'}, "
        f"{codex}"
    ]
    if version is None:
        lines.append("! It may be something else of that name: see trimpoint doctor.")
    elif version > NEWEST_TESTED:
        lines.append(
            f"! It is newer than {version_text(NEWEST_TESTED)}, the newest that was tested."
        )
    with suppress(HomeUnknown):
        home_folder = profile.codex_home or codex_home(os.environ)
        if not (home_folder / "auth.json").exists():
            lines.append(
                "! No login was found: run `trimpoint login`, unless your provider has a key of "
                "its own."
            )
    return lines


async def _serve(
    settings: Settings,
    profile: LaunchProfile,
    about_codex: list[str] | None,
    is_background: bool,
    stop: StopSignals,
) -> int:
    with closing(own_notifier()) as notifier:
        handed = handed_over(os.environ, os.getpid())
        if handed is not None and handed.path is not None:
            settings = _at(settings, handed.path)
        fallback = _fallback(settings) if is_background else None
        serving = daemon_on_socket(settings, profile, handed_over=handed, fallback=fallback)
        async with (
            serving as (daemon, socket),
            serving_codex(daemon, settings, may_lack_it=is_background),
        ):
            daemon.http.addresses.takes_home_of_client = is_background
            _announce(settings._replace(socket=socket), daemon.http.addresses.first, about_codex)
            if is_background:
                close_stdout()
            async with reported(notifier, daemon.describe):
                idle_exit_s = _idle_exit_s(settings, is_background)
                asked_by = await stop_asked(daemon, stop, idle_exit_s)
                log.info("stopping", asked_by=asked_by, interrupts_turns=daemon.running_turns())
    log.info("stopped")
    return Exit.DONE


def _idle_exit_s(settings: Settings, is_background: bool) -> float:
    configured = settings.config.daemon.idle_exit_s
    if configured is not None:
        return configured
    return BACKGROUND_IDLE_EXIT_S if is_background else 0.0


def _fallback(settings: Settings) -> Path | None:
    """Returns the socket to use if a daemon of another state directory has the default one; None if
    the socket was named.
    """
    return None if settings.socket_is_named else settings.state_dir / "run" / "trimpoint.sock"


def _at(settings: Settings, path: Path) -> Settings:
    """Returns the settings with the path of the socket that the service manager handed over.
    Clients connect to it already, so it is used even if another socket was named.
    """
    if settings.socket_is_named and settings.socket != path:
        log.warning("socket_not_used", named=str(settings.socket), handed_over=str(path))
    return settings._replace(socket=path)


def _announce(settings: Settings, http: str | None, about_codex: list[str] | None) -> None:
    """Prints the addresses to standard output once clients can connect; the program that started
    the daemon may wait for the first line.

    :param about_codex: warnings for a person; None: print JSON for a program.
    """
    with suppress(OSError):
        if about_codex is None:
            place = {
                "listening": str(settings.socket),
                "pid": os.getpid(),
                "stateDir": str(settings.state_dir),
            }
            print_json(place if http is None else {**place, "http": http})
            return
        print(f"trimpoint {__version__} listens on {settings.socket} (pid {os.getpid()})")
        if http is not None:
            print(f"HTTP and WebSocket at {http}, with the token of `trimpoint daemon token`")
        print(*about_codex, sep="\n")
        print('Now try, in another terminal: trimpoint ask "What is in this project?"', flush=True)


def detach() -> None:
    """Continues in a child process that has no parent to wait for it, no terminal, and none of the
    starter's working directory.

    Must be called before threads are started. The original process exits here with code 0.
    """
    if os.fork() > 0:
        os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # The client's folder may be removed while others still use the daemon.
    os.chdir("/")
    with suppress(OSError, RuntimeError):
        os.chdir(Path.home())


def close_stdout() -> None:
    """Closes the pipe that the starter reads; later output is discarded."""
    null_fd = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null_fd, 1)
    os.close(null_fd)
