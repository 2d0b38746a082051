"""The configuration: `sections` says what can be configured, `loading` reads the file and the
environment.
"""
