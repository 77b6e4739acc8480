"""What the commands print for people: tables and lines of what the package's calls return."""
