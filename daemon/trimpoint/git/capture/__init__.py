"""Checkpoints: `capture` takes one, `omissions` lists what it leaves out, `refs` names them,
`inventory` counts and deletes them, `upkeep` keeps the store small without a person's help.
"""
