"""The desktop window: shows the page of `web/built` in Qt's Chromium and connects it to the daemon
through a `trimpoint stdio` process. No port is opened.
"""
