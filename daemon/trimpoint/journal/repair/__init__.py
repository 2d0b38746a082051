"""Implements `trimpoint daemon journal`: `verification` finds damage, `repair` repairs it, and
`event_export` exports events.
"""
