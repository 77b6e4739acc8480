"""The host link and what a command costs over it."""
