"""The desktop window: the page of `web/app` in Qt's Chromium, and the sidecar at the other end of a
pipe. No port is opened.
"""
