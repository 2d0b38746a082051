"""The Codex threads that serve a thread.

`provider_threads` starts, fills and archives them, `forking` forks and `resuming` resumes them,
`settings` reads and writes their settings, `client_resumes` keeps a client's request to load one,
`outside_changes` records what other programs did, `lost_endings` ends turns whose end Codex never
reports, `inherit` carries a thread's properties to the next one, `terminals` keeps background
terminals, `prompts` connects prompts with turns, `version_requirements` refuses what Codex is too
old for.
"""
