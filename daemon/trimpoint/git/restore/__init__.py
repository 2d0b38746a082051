"""Restores checkpoints: `plan` compares, `restore` writes, `taking_back` computes the plan of a
revert, and `file_transaction` rolls back incomplete changes.
"""
