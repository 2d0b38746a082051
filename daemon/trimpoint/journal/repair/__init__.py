"""What `trimpoint journal` does: `verification` finds damage, `repair` mends it, `event_export`
prints events.
"""
