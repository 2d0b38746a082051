"""Deadlines after which a test gives up waiting. They are for hangs only: no test measures speed.

On a calm machine no step takes a tenth of its deadline, and a busy machine is ten times as slow.
"""

STEP_S = 60.0
"""For one step: an answer, an event, a turn, a process that starts or ends. On a calm machine at
most 6 s.
"""

SCENARIO_S = 300.0
"""For a whole story of many steps. On a calm machine at most 30 s. pytest's own time-out is twice
that.
"""
