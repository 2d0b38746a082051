"""The daemon as a systemd service: `notify` and `reporting` send its state, `activation` takes over
its sockets, `units` writes the user units, and `systemctl` runs systemd's tools.
"""
