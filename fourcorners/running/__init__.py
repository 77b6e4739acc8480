"""Carries suites out: begins a run, continues one, and says how far it is."""
