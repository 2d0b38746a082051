"""The configuration: `sections` defines the settings, `loading` reads them from the file and the
environment.
"""
