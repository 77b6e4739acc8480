"""Validates the product against known truths; nothing that measures a user's drive needs it."""
