"""Sets up logging with structlog: JSON lines on stderr, or readable text on a terminal
(docs/spec/running.md). Message content is never logged.
"""

import logging
import sys

import structlog

LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


# Not shown on a terminal, where they are noise or are printed as a sentence.
_NOT_FOR_PEOPLE = frozenset(
    {"client_connected", "client_disconnected", "daemon_ready", "listening"}
)


def _for_people(
    _logger: object, _method: str, event: structlog.typing.EventDict
) -> structlog.typing.EventDict:
    if event.get("event") in _NOT_FOR_PEOPLE:
        raise structlog.DropEvent
    return event


def configure_logging(level: str) -> None:
    """Sets up structlog for the whole process. Call it once, before anything is logged.

    :raises ValueError: when there is no such level.
    """
    if level not in LEVELS:
        raise ValueError(f"log level {level!r} is none of {', '.join(LEVELS)}")
    on_terminal = sys.stderr.isatty()
    quiet = [_for_people] if on_terminal and level != "debug" else []
    stamp = structlog.processors.TimeStamper(
        fmt="%H:%M:%S" if on_terminal else "iso", utc=not on_terminal
    )
    renderer: structlog.typing.Processor = (
        structlog.dev.ConsoleRenderer() if on_terminal else structlog.processors.JSONRenderer()
    )
    exceptions = [] if on_terminal else [structlog.processors.format_exc_info]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            *quiet,
            structlog.processors.add_log_level,
            stamp,
            *exceptions,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=True,
    )
