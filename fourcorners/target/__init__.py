"""Everything that opens, identifies, erases and verifies a target."""
