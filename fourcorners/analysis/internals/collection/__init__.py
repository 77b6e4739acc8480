"""Garbage collection and the spare area it works in."""
