"""The daemon as a service: `notify` sends its state to systemd, `activation` takes over its
sockets, `units` writes the user units, `systemctl` runs systemd's tools. `launchd` is for macOS.
"""
