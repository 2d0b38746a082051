"""The scripts that make a release."""
