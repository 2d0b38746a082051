"""Implements `trimpoint journal`: `verification` finds damage, `repair` repairs it, and
`event_export` exports events.
"""
