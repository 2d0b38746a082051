"""Commands to events, or to a rejection.

`decider` is the entry. `trimming`, `discarding`, `undoing`, `pinning`, `overflow`, `reverting` and
`auto_compaction` decide one subject each, `new_facts` turns reports from Codex into events,
`revisions` resolves ranges of checkpoints, and `agent_tools` answers the tools that the agent
itself may call.
"""
