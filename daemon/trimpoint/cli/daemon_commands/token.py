"""`trimpoint daemon token`: prints the token for clients over TCP, or an address that logs a
browser in.
"""

import argparse

from trimpoint_protocol.methods import LoginUrl

from trimpoint.cli.connection.client import Client, ask
from trimpoint.cli.connection.connect import with_daemon
from trimpoint.cli.connection.settings import settings_of
from trimpoint.cli.exits import CliError, Exit
from trimpoint.cli.terminal import print_json
from trimpoint.http.access.token_file import TokenUnusable, renew_token, token_at


def run(arguments: argparse.Namespace) -> int:
    """Prints the token, which needs no daemon, or with `--url` a one-time address, which does.

    :raises CliError: when there is no usable token.
    """
    if arguments.url:
        return with_daemon(arguments, _print_url, starts=False)
    state_dir = settings_of(arguments).state_dir
    try:
        token = renew_token(state_dir) if arguments.new else token_at(state_dir)
    except TokenUnusable as error:
        raise CliError(f"{error}.", error.hint, reason="token_unusable") from None
    except OSError as error:
        raise CliError(f"{error.filename}: {error.strerror}.", reason="token_unusable") from None
    if arguments.json:
        print_json({"token": token})
    else:
        print(token, flush=True)
    return Exit.DONE


async def _print_url(client: Client) -> int:
    print((await ask(client, LoginUrl, "sidecar/loginUrl")).url, flush=True)
    return Exit.DONE
