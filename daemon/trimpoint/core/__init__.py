"""The domain, pure: no I/O, clock or randomness; time and ids arrive inside commands and stamps."""
