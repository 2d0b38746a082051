"""Arguments: `arguments` is the parser, and the modules `…_arguments` have its commands: those that
talk with the agent (`agent_arguments`), change its context, or are about threads, sessions of all
agents, the fleet, the daemon or this machine. `options` has what they share, `man_page` the manual.
"""
