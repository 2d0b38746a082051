"""Back to a checkpoint: `plan` compares, `restore` writes, `file_transaction` undoes what was half
done.
"""
