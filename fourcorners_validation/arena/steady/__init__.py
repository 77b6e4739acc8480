"""The contest of steady state."""
