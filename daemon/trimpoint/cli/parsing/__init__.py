"""Arguments: `arguments` is the parser, `daemon_arguments` and `thread_arguments` its commands,
`options` shared options.
"""
