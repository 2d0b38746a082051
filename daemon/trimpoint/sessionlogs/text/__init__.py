"""Handles text for all readers: `lines` splits a stream, `lenient` decodes a line that is not as it
should be.
"""
