"""Findings and recordings become a page, a terminal summary and tables in Jupyter. Nothing is
computed here."""
