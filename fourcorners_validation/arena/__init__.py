"""Contests on simulated drives, whose truth is known: :mod:`.steady` judges of steady state."""
