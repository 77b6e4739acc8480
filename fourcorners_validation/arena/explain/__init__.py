"""Hidden drives: how well the probes find out what is inside drives that are unknown to them."""
