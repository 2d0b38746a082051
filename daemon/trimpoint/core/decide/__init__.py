"""Decides commands: turns each one into events or a rejection.

`decider` is the entry point. `trimming`, `discarding`, `undoing`, `pinning`, `overflow`,
`reverting`, `auto_compaction` each have the rules of one subject. `new_facts` turns reports of
Codex into events, `revisions` resolves ranges of checkpoints, `file_history` finds the authors of
file changes, and `agent_tools` answers the tools that the agent may call.
"""
