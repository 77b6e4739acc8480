"""Memory before the medium."""
