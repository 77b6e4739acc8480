"""What bears on all findings: the kind of drive, drift, reads that the host answered."""
