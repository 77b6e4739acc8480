"""Measure, simulate, explain and predict storage drives."""
