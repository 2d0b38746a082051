"""The Codex threads that serve a thread.

`provider_threads` starts, forks, resumes and archives them, `settings` reads and writes their settings,
`inherit` carries a thread's properties to the next one, `terminals` keeps background terminals,
`prompts` connects prompts with turns, `version_requirements` refuses what Codex is too old for.
"""
