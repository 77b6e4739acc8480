"""Carries suites out: begins a run, goes on with one, and says how far it is."""
