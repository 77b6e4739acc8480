"""Contests on simulated drives, whose truth is known; :mod:`.steady` is that of steady state."""
