"""The desktop window: shows the page of `web/app` in Qt's Chromium and connects it to the daemon
through a `trimpoint stdio` process. No port is opened.
"""
