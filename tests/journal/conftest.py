from __future__ import annotations

from hypothesis import settings

# No test here asserts how long anything takes, on a busy machine least of all.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
