"""SNIA's Solid State Storage Performance Test Specification 2.0.2, enterprise and client."""
