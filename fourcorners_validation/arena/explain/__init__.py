"""Hidden drives: how well the probes find out what is in drives that nobody told them of."""
