"""Argument parsing. `arguments` is the parser of the whole command line; each module `…_arguments`
declares the commands of one subject: talking with the agent (`agent_arguments`), its context,
threads, sessions of all agents, the fleet, the daemon, this machine. `options` holds shared
options, `man_page` makes the manual page.
"""
