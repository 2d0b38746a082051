"""What is found on this machine and what is wrong with it: `trimpoint doctor`.

Always true: looking changes nothing. No file is made, touched or locked, no daemon and no Codex is
started or spoken to beyond one question that it answers at once. What is shown holds no secret and
no word of a conversation.
"""
