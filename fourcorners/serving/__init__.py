"""Simulated drives as block devices of real programs: sessions, their faults, and their results."""
