"""The daemon as a systemd service: `notify` sends its state, `activation` takes over
its sockets, `units` writes the user units, and `systemctl` runs systemd's tools.
"""
