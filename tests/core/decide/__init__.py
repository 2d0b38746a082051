"""Decisions about commands: the events of accepted ones, and the reasons of refusals."""
