"""Implements `trimpoint journal`: `verification` finds damage, `repair` mends it, `event_export`
prints events.
"""
