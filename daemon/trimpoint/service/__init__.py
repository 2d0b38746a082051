"""Life under systemd: its notifications, the sockets it hands over, and the user units that make
trimpoint a service.
"""
