"""The provider threads of a thread.

`provider_threads` starts and fills them, `archiving` archives them, `forking` forks them, and
`resuming` loads them again. `settings` computes their settings, `collaboration_modes` keeps a mode
equal to the model and effort beside it, `client_resumes` uses a client's request to load one,
`outside_changes` records changes by other programs, `lost_endings` ends turns whose end Codex does
not report, `inherit` carries properties over to the next provider thread, `terminals` keeps
background terminals, `prompts` keeps the prompt of a running turn, and `version_requirements`
refuses commands that need a newer Codex.
"""
