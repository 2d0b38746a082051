"""One module for each command that acts on a thread; `turns` has those that run one.
`thread_choice` finds the thread that is meant.
"""
