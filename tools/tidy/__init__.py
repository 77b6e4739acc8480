"""The rules of this house that no other tool checks; `python -m tools.tidy`."""
