"""Reverts of conversations and files."""
